// A signal that a process sends itself has been handled when kill, raise, tgkill or
// sigqueue returns, and so has a pending one when the mask is opened.
//@ variants: pie static
#include "guest.h"
static volatile int hits, sender;
static void handler(int s, siginfo_t *i, void *c) {
    hits++;
    sender = i->si_pid;
}
int main(void) {
    on(SIGUSR1, handler, 0);
    int want = 0;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (int i = 0; i < 500; i++) {
        kill(getpid(), SIGUSR1); SAME(hits, ++want); SAME(sender, getpid());
        raise(SIGUSR1); SAME(hits, ++want);
        syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1); SAME(hits, ++want);
        sigqueue(getpid(), SIGUSR1, (union sigval){1}); SAME(hits, ++want);
        sigprocmask(SIG_BLOCK, &set, 0);
        kill(getpid(), SIGUSR1);
        SAME(hits, want);
        sigprocmask(SIG_UNBLOCK, &set, 0);
        SAME(hits, ++want);
    }
    FINISH();
}
