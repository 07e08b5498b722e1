// Queued real-time signals: each one once, lower numbers first, in order, with its value;
// ordinary ones merge. Sent blocked from here, then in bulk from a child.
#include "guest.h"
static int got[4096], values[4096]; static volatile int n;
static void handler(int s, siginfo_t *i, void *c) {
    got[n] = s, values[n++] = i->si_value.sival_int;
    if (i->si_code != SI_QUEUE) failures++;
}
static volatile int plain; static void ordinary(int s, siginfo_t *i, void *c) { plain++; }
int main(void) {
    sigset_t block, old; sigfillset(&block);
    for (int s = SIGRTMIN; s < SIGRTMIN + 4; s++) {
        struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
        sigfillset(&a.sa_mask);
        sigaction(s, &a, 0);
    }
    on(SIGUSR1, ordinary, 0);
    sigprocmask(SIG_BLOCK, &block, &old);
    for (int k = 0; k < 40; k++) {
        sigqueue(getpid(), SIGRTMIN + k % 4, (union sigval){k});
        kill(getpid(), SIGUSR1);
    }
    sigset_t pending;
    sigpending(&pending);
    SAME(sigismember(&pending, SIGUSR1), 1);
    SAME(sigismember(&pending, SIGRTMIN + 3), 1);
    sigprocmask(SIG_SETMASK, &old, 0);
    for (int k = 0; k < n; k++) printf("%d:%d ", got[k] - SIGRTMIN, values[k]);
    printf("\n%d %d\n", n, plain);
    n = 0; pid_t parent = getpid(), k = fork();
    if (!k) {
        for (int v = 0; v < 2000; v++)
            while (sigqueue(parent, SIGRTMIN + 1, (union sigval){v})) usleep(100);
        _exit(0);
    }
    u64 work = 0; while (n < 2000) { work = work * 3 + n; KEEP(work); }
    for (int v = 0; v < 2000; v++) SAME(values[v], v);
    while (waitpid(k, 0, 0) < 0) {}
    SAME(n, 2000);
    FINISH();
}
