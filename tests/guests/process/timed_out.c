// Reads from a pipe that stays empty until a timer interrupts that, again and again, as programs do
// that must not wait for ever. (`tests/e2e/attach.rs` runs it while it comes under ppin.)
//@ variants: pie
#include "guest.h"

static volatile int ticks;
static void tick(int sig, siginfo_t *info, void *context) { ticks++; }

int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 5;
    // (A tick that the call does not tell of is followed by another one.)
    struct itimerval soon = {.it_interval = {5, 0}, .it_value = {0, 60000}};
    int ends[2];
    char byte;
    if (pipe(ends)) return 9;
    on(SIGALRM, tick, 0);
    for (int n = 1; n <= times; n++) {
        setitimer(ITIMER_REAL, &soon, 0);
        SAME(read(ends[0], &byte, 1), -1);
        SAME(errno, EINTR);
        SAME(ticks, n);
        ticks = n;
    }
    FINISH();
}
