// Death by each signal whose default is that, from outside and from itself, with faults
// that are blocked or ignored (which kill all the same); ignored ones do nothing.
#include "guest.h"
#include <sys/resource.h>
int main(void) {
    struct rlimit none = {0, 0}; setrlimit(RLIMIT_CORE, &none);
    for (int s = 1; s < 65; s++) {
        if (s == SIGSTOP || s == SIGTSTP || s == SIGTTIN || s == SIGTTOU || s == 32 || s == 33)
            continue;
        pid_t k = fork();
        if (!k) {
            syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), s);
            _exit(0);
        }
        char name[20]; sprintf(name, "tgkill %d", s); report_child(name, k);
        k = fork();
        if (!k) {
            for (;;) {
                u64 w = 1;
                KEEP(w);
            }
        }
        usleep(1000);
        kill(k, s);
        kill(k, SIGKILL);
        int st;
        waitpid(k, &st, 0);
        if (s != SIGCONT && s != SIGCHLD && s != SIGURG && s != SIGWINCH) CHECK(WIFSIGNALED(st));
    }
    for (int way = 0; way < 9; way++) {
        pid_t k = fork();
        if (!k) {
            sigset_t set; sigfillset(&set);
            if (way % 3 == 1) sigprocmask(SIG_BLOCK, &set, 0);
            if (way % 3 == 2)
                signal(SIGSEGV, SIG_IGN), signal(SIGFPE, SIG_IGN), signal(SIGILL, SIG_IGN);
            if (way / 3 == 0) *(volatile int *)0 = 1;
            if (way / 3 == 1) divide_by_zero();
            asm volatile("ud2");
        }
        char name[20]; sprintf(name, "fault way %d", way); report_child(name, k);
    }
    pid_t k = fork(); if (!k) abort(); report_child("abort", k);
    FINISH();
}
