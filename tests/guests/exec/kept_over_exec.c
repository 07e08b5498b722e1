// What exec keeps and resets: mask and ignored signals stay, handlers and the alternate
// stack go, pending signals stay pending, close-on-exec closes, umask and directory stay.
#include "guest.h"
#include <sys/stat.h>
static void handler(int s, siginfo_t *i, void *c) {}
int main(int argc, char **argv) {
    if (argc > 1) {
        sigset_t m, p;
        sigprocmask(SIG_BLOCK, 0, &m);
        sigpending(&p);
        stack_t st;
        sigaltstack(0, &st);
        struct sigaction a;
        for (int s = 1; s < 65; s++) {
            int r = sigaction(s, 0, &a);
            if (sigismember(&m, s) == 1 || sigismember(&p, s) == 1 || !r && a.sa_handler != SIG_DFL)
                printf("%d: blocked %d pending %d ignored %d\n", s, sigismember(&m, s),
                       sigismember(&p, s), a.sa_handler == SIG_IGN);
        }
        for (int fd = 3; fd < 64; fd++) if (fcntl(fd, F_GETFD) != -1) printf("fd %d\n", fd);
        char d[100];
        printf("%x umask %o cwd %s\n", st.ss_flags, umask(0), getcwd(d, 100));
        return 0;
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN + 3);
    sigprocmask(SIG_BLOCK, &set, 0);
    kill(getpid(), SIGUSR1);
    sigqueue(getpid(), SIGRTMIN + 3, (union sigval){1});
    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    on(SIGUSR2, handler, 0);
    on(SIGSEGV, handler, 0);
    static char alt[20000];
    stack_t st = {.ss_sp = alt, .ss_size = sizeof alt};
    sigaltstack(&st, 0);
    open("/dev/null", O_RDONLY);
    open("/dev/null", O_RDONLY | O_CLOEXEC);
    open("/dev/null", O_RDONLY);
    umask(037);
    chdir("/");
    execl("/proc/self/exe", argv[0], "again", NULL);
    return 1;
}
