// Signal mask, dispositions, pending signals, alternate stack, timers, children and
// tracer at start: all as an ordinary exec leaves them.
//@ variants: pie static
#include "guest.h"
#include <sys/prctl.h>
#include <sys/resource.h>
static void status(const char *key) {
    char line[400];
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':') fputs(line, stdout);
    fclose(f);
}
int main(void) {
    u64 mask = 1;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8);
    SAME(mask, 0);
    for (int s = 1; s < 65; s++) {
        struct { u64 handler, flags, restorer, mask; } old;
        if (syscall(SYS_rt_sigaction, s, 0, &old, 8)) continue;
        if (old.handler || old.flags)
            printf("signal %d: handler %d flags %lx\n", s, old.handler != 0, old.flags);
    }
    stack_t stack;
    sigaltstack(0, &stack);
    SAME(stack.ss_flags, SS_DISABLE);
    SAME(waitpid(-1, 0, WNOHANG), -1);
    SAME(errno, ECHILD);
    for (int which = 0; which < 3; which++) {
        struct itimerval t;
        getitimer(which, &t);
        SAME(t.it_value.tv_sec + t.it_value.tv_usec, 0);
    }
    SAME(prctl(PR_GET_DUMPABLE), 1);
    int death = 1;
    prctl(PR_GET_PDEATHSIG, &death);
    SAME(death, 0);
    static const char *const keys[] = {"Name",    "Umask",      "State",   "TracerPid",
                                       "Threads", "SigPnd",     "ShdPnd",  "SigBlk",
                                       "SigIgn",  "NoNewPrivs", "Seccomp", "CapEff"};
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) status(keys[i]);
    for (int r = 0; r < 16; r++) {
        struct rlimit l;
        getrlimit(r, &l);
        printf("rlimit %d %lx %lx\n", r, (long)l.rlim_cur, (long)l.rlim_max);
    }
    printf("nice %d sched %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
    FINISH();
}
