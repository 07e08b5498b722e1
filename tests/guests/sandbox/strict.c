// Strict mode: read, write, exit and rt_sigreturn. New code runs, another call kills.
//@ variants: pie static
#include "sandbox.h"
ALL(F100)
static u64 (*const functions[])(u64) = {ALL(N100)};

static void work(int forbidden) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) _exit(98);
    u64 x = 1;
    for (unsigned n = 0; n < sizeof functions / sizeof *functions; n++) x = functions[n](x);
    say_number("strict ", x);
    char byte;
    if (read(0, &byte, 0) != 0) say("read\n");
    if (forbidden == 1) syscall(SYS_getpid);
    if (forbidden == 2) syscall(SYS_exit_group, 4);
    if (forbidden == 3) mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (forbidden == 4) *(volatile int *)8 = 1;
    if (forbidden == 5) asm volatile("ud2");
    if (forbidden == 6) divide_by_zero();
    if (forbidden == 7) asm volatile("int3");
    syscall(SYS_exit, 3);
}

int main(void) {
    no_core();
    for (int forbidden = 0; forbidden < 8; forbidden++) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) work(forbidden);
        report_child("child", child);
    }
    FINISH();
}
