// signalfd, sigwaitinfo, sigtimedwait and sigwait take blocked signals with their values;
// no handler runs for what was taken.
#include "guest.h"
#include <sys/signalfd.h>
static int ran; static void handler(int s, siginfo_t *i, void *c) { ran++; }
int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, 0);
    on(SIGUSR1, handler, 0); on(SIGRTMIN, handler, 0); on(SIGCHLD, handler, 0);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    struct signalfd_siginfo f;
    siginfo_t info;
    struct timespec no = {0}, one = {1, 0};
    for (int i = 0; i < 100; i++) {
        sigqueue(getpid(), SIGRTMIN, (union sigval){i});
        SAME(read(fd, &f, sizeof f), sizeof f);
        SAME(f.ssi_signo, SIGRTMIN);
        SAME(f.ssi_int, i);
        sigqueue(getpid(), SIGRTMIN, (union sigval){i});
        SAME(sigwaitinfo(&set, &info), SIGRTMIN);
        SAME(info.si_value.sival_int, i);
        kill(getpid(), SIGUSR1);
        SAME(sigtimedwait(&set, &info, &one), SIGUSR1);
        SAME(info.si_pid, getpid());
        SAME(sigtimedwait(&set, &info, &no), -1); SAME(errno, EAGAIN);
    }
    pid_t k = fork(); if (!k) _exit(9);
    int s; SAME(sigwait(&set, &s), 0); SAME(s, SIGCHLD); report_child("child", k);
    SAME(ran, 0);
    FINISH();
}
