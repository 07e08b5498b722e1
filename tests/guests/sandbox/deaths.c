// Under a filter that knows nothing of signals a program still dies of them as it should:
// of faults, of its timer, of another's kill; its handlers run, and may leave by
// rt_sigreturn where that is allowed, by exit_group where it is not.
//@ variants: pie static
#include "sandbox.h"

static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)info;
    say_number("handled ", signal);
    GREG(context, REG_RIP) += 2;
}

static void on_violation(int signal, siginfo_t *info, void *context) {
    (void)context;
    say_number("violation ", info->si_syscall + signal * 1000);
    leave(11);
}

static void die(int how) {
    if (how == 0) *(volatile int *)8 = 1;
    if (how == 1) asm volatile("ud2");
    if (how == 2) divide_by_zero();
    if (how == 3) asm volatile("int3");
    if (how == 4) asm volatile("jmp *%0" ::"r"(0x1234567000ull));
    if (how == 5) syscall(SYS_getuid);
    if (how == 6) for (;;) asm volatile("pause");
    leave(12);
}

int main(void) {
    no_core();
    static const int with[] = {SYS_write, SYS_exit_group, SYS_rt_sigreturn, -1};
    static const int without[] = {SYS_write, SYS_exit_group, -1};
    for (int set = 0; set < 4; set++)
        for (int how = 0; how < 7; how++) {
            // A trap that cannot be returned from is ours, too: the kernel's own choice.
            if (how == 3 && set % 2) continue;
            fflush(stdout);
            pid_t child = fork();
            if (!child) {
                if (set < 2) {
                    on(SIGILL, on_fault, 0);
                    on(SIGSYS, on_violation, 0);
                }
                if (set < 2 && how == 1 && set % 2) leave(0); // it could not go on
                if (how == 6) ualarm(20000, 0);
                if (confine(set % 2 ? without : with,
                            set < 2 ? SECCOMP_RET_TRAP : SECCOMP_RET_KILL_PROCESS, 0))
                    leave(98);
                die(how);
            }
            printf("%d %d ", set, how), report_child("ended", child);
        }
    FINISH();
}
