// A program that takes a stretch of addresses for itself, whatever lies there (only ppin
// does), gets it, and goes on: so does its child, and what either executes.
//@ variants: pie nopie static
#include "guest.h"

static void claim(u64 from, u64 size) {
    u8 *at =
        mmap((void *)from, size, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    SAME(at, from);
    for (u64 n = 0; n < size; n += size / 64) at[n] = n >> 30;
    for (u64 n = 0; n < size; n += size / 64) SAME(at[n], (u8)(n >> 30));
    printf("%lx\n", from);
}
static int hits;
static void handler(int signal, siginfo_t *info, void *context) { hits++; }

int main(int count, char **words) {
    if (count > 1) return puts("executed"), 3;
    on(SIGUSR1, handler, 0);
    fflush(0);
    if (!fork()) {
        SAME(munmap((void *)0x550000000000, 0x5000000000), 0);
        raise(SIGUSR1); SAME(hits, 1);
        fflush(0), _exit(failures);
    }
    int status;
    wait(&status);
    SAME(status, 0);
    claim(0x550000000000, 0x5000000000);
    raise(SIGUSR1), fflush(0);
    if (!fork()) execl("/proc/self/exe", "self", "again", (char *)0);
    wait(&status);
    SAME(status, 3 << 8);
    SAME(hits, 1);
    FINISH();
}
