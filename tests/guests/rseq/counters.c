// A counter for each CPU, added to by restartable sequences without a lock: no addition
// may be lost. Short sequences, and long ones that are often interrupted.
//@ variants: pie nopie static musl
//@ libs: -lpthread
//@ timeout: 60
#include "sequences.h"
#include <pthread.h>
static struct { long fast, slow, pad[14]; } counters[1024] __attribute__((aligned(128)));
static int others, aborts;
static void *body(void *unused) {
    struct area *a = area(); long kept[2]; int aborted = 0, moved = 0;
    for (int i = 0; i < 100000;) {
        u32 cpu = a->cpu_id_start;
        int r = add(a, &counters[cpu].fast, 3, cpu);
        i += r == 0;
        moved += r > 0;
        aborted += r < 0;
    }
    for (int i = 0; i < 500; ) {
        u32 cpu = a->cpu_id_start;
        int r = slow_add(a, &counters[cpu].slow, cpu, 20000, kept);
        i += r == 0;
        moved += r > 0;
        aborted += r < 0;
        if (r < 0) CHECK(kept[1] == 2 * kept[0] || kept[1] == 2 * kept[0] - 2);
    }
    __sync_fetch_and_add(&others, moved); __sync_fetch_and_add(&aborts, aborted); return unused;
}
int main(void) {
    pthread_t t[8]; if ((int)area()->cpu_id < 0) { puts("ok"); return 0; }
    for (int i = 0; i < 8; i++) if (pthread_create(&t[i], 0, body, 0)) return 9;
    for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
    long fast = 0, slow = 0;
    for (int i = 0; i < 1024; i++) {
        fast += counters[i].fast;
        slow += counters[i].slow;
    }
    SAME(fast, 8 * 3 * 100000); SAME(slow, 8 * 500); fprintf(stderr, "");
    if (getenv("SHOW")) printf("%d aborted, %d on another CPU\n", aborts, others);
    FINISH();
}
