// sigsuspend, ppoll, pselect and epoll_pwait unblock and wait in one step: a signal sent
// just before must not be lost (a thousand races with a child that answers each).
#include "guest.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
static volatile int hits; static void handler(int s, siginfo_t *i, void *c) { hits++; }
int main(void) {
    sigset_t block, none, old;
    sigemptyset(&none);
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    sigprocmask(SIG_BLOCK, &block, &old);
    on(SIGUSR1, handler, 0); on(SIGUSR2, handler, 0);
    int go[2]; pipe(go); pid_t parent = getpid(), k = fork();
    if (!k) {
        close(go[1]);
        char c;
        while (read(go[0], &c, 1) == 1) {
            for (volatile int spin = 0; spin < c * 40; spin++) {}
            kill(parent, SIGUSR1);
        }
        _exit(0);
    }
    close(go[0]); int ep = epoll_create1(0); alarm(60);
    for (int r = 0; r < 1000; r++) {
        char c = r % 100;
        write(go[1], &c, 1);
        int before = hits, n;
        struct timespec far = {20, 0};
        struct epoll_event e;
        if (r % 4 == 0) n = sigsuspend(&none);
        else if (r % 4 == 1) n = ppoll(0, 0, &far, &none);
        else if (r % 4 == 2) n = pselect(0, 0, 0, 0, &far, &none);
        else n = epoll_pwait(ep, &e, 1, 20000, &none);
        SAME(n, -1); SAME(errno, EINTR); SAME(hits, before + 1);
        sigset_t now; sigprocmask(SIG_BLOCK, 0, &now); SAME(sigismember(&now, SIGUSR1), 1);
    }
    close(go[1]); report_child("child", k);
    FINISH();
}
