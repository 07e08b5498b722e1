// siglongjmp out of handlers, thousands of times, after faults and after sent signals:
// nothing of the engine's may pile up, and the mask comes back.
//@ variants: pie static
#include "guest.h"
#include <setjmp.h>
static sigjmp_buf back;
static void handler(int s, siginfo_t *i, void *c) { siglongjmp(back, s); }
int main(void) {
    on(SIGSEGV, handler, 0); on(SIGUSR1, handler, 0); on(SIGFPE, handler, 0);
    int counts[65] = {0};
    for (volatile int i = 0; i < 6000; i++) {
        int s = sigsetjmp(back, 1);
        if (s) { counts[s]++; continue; }
        if (i % 3 == 0) *(volatile int *)16 = 1;
        if (i % 3 == 1) raise(SIGUSR1);
        divide_by_zero();
    }
    sigset_t mask; sigprocmask(SIG_BLOCK, 0, &mask);
    printf("%d %d %d %d\n", counts[SIGSEGV], counts[SIGUSR1], counts[SIGFPE],
           sigismember(&mask, SIGUSR1));
    FINISH();
}
