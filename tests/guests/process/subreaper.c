// Orphans: a subreaper gets its grandchild and no other child; SIGCHLD counts fit, and a
// parent that ignores SIGCHLD has none to wait for.
#include "guest.h"
#include <sys/prctl.h>
int main(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int n = 0, s;
    pid_t k = fork();
    if (!k) {
        if (!fork()) {
            usleep(20000);
            _exit(12);
        }
        _exit(11);
    }
    int sum = 0;
    while (waitpid(-1, &s, 0) > 0) n++, sum += WEXITSTATUS(s);
    SAME(n, 2);
    SAME(sum, 23);
    SAME(errno, ECHILD);
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 5; i++)
        if (!fork()) _exit(1);
    SAME(waitpid(-1, &s, 0), -1);
    SAME(errno, ECHILD);
    siginfo_t si;
    signal(SIGCHLD, SIG_DFL);
    k = fork();
    if (!k) _exit(3);
    SAME(waitid(P_PID, k, &si, WEXITED | WNOWAIT), 0);
    SAME(si.si_status, 3);
    SAME(waitid(P_ALL, 0, &si, WEXITED), 0);
    SAME(si.si_pid, k);
    FINISH();
}
