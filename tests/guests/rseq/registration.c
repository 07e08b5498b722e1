// What the kernel says to registrations, and that it keeps the CPU's number.
//@ variants: pie static musl
#include "sequences.h"
static int call(void *a, unsigned size, int flags, u32 signature) {
    errno = 0;
    return syscall(SYS_rseq, a, size, flags, signature) ? errno : 0;
}
static void on_cpu(struct area *a, int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) return;
    for (int i = 0; i < 1000; i++) { SAME(a->cpu_id, cpu); SAME(a->cpu_id_start, cpu); }
    SAME(sched_getcpu(), cpu);
}
int main(void) {
    struct area *a = area(); static struct area other;
    printf("registered %d\n", (int)a->cpu_id >= 0);
    for (int cpu = 0; cpu < 2; cpu++) on_cpu(a, cpu);
    printf("again %d, another %d, flags %d\n", call(a, 32, 0, SIGNATURE),
           call(&other, 32, 0, SIGNATURE), call(a, 32, 8, SIGNATURE));
    printf("off: another %d, size %d, signature %d\n", call(&other, 32, 1, SIGNATURE),
           call(a, 64, 1, SIGNATURE), call(a, 32, 1, 1));
    fflush(stdout);
    if (fork() == 0) {
        for (int cpu = 0; cpu < 2; cpu++) on_cpu(a, cpu);
        printf("child %d\n", call(a, 32, 0, SIGNATURE));
        fflush(stdout);
        return failures;
    }
    int status; wait(&status); SAME(status, 0);
    printf("off %d, then %d, again %d\n", call(a, 32, 1, SIGNATURE), (int)a->cpu_id,
           call(a, 32, 1, SIGNATURE));
    printf("misaligned %d, short %d, on %d\n", call((char *)&other + 4, 32, 0, SIGNATURE),
           call(&other, 16, 0, SIGNATURE), call(&other, 32, 0, SIGNATURE));
    for (int cpu = 0; cpu < 2; cpu++) on_cpu(&other, cpu);
    printf("off %d\n", call(&other, 32, 1, SIGNATURE));
    FINISH();
}
