// sigwait for a signal that is not blocked and would end the process: it does.
#include "guest.h"
#include <sys/resource.h>
static void none(int s) { (void)s; }
static void wait_for(const char *what, int s, void (*action)(int), int block) {
    fflush(stdout);
    pid_t k = fork();
    if (!k) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, s);
        signal(s, action);
        sigprocmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, 0);
        pid_t sender = fork();
        if (!sender) {
            usleep(20000);
            for (;;) {
                if (kill(getppid(), s) || getppid() == 1) _exit(0);
                usleep(5000);
            }
        }
        int got = 0;
        sigwait(&set, &got);
        kill(sender, SIGKILL);
        _exit(got);
    }
    report_child(what, k);
}
int main(void) {
    struct rlimit zero = {0, 0}; setrlimit(RLIMIT_CORE, &zero);
    wait_for("blocked", SIGALRM, SIG_DFL, 1);
    wait_for("deadly", SIGALRM, SIG_DFL, 0);
    wait_for("caught", SIGALRM, none, 0);
    wait_for("harmless", SIGWINCH, none, 0);
    wait_for("real-time", SIGRTMIN + 2, SIG_DFL, 0);
    wait_for("segv", SIGSEGV, SIG_DFL, 1);
    FINISH();
}
