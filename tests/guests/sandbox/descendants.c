// What a filter lets pass goes on under it: fork, its child's new code, exec of a program
// that inherits the filter, and a second filter on top of the first.
//@ variants: pie static
#include "sandbox.h"
ALL(F100)
static u64 (*const functions[])(u64) = {ALL(N100)};

static u64 run_all(u64 x) {
    for (unsigned n = 0; n < sizeof functions / sizeof *functions; n++) x = functions[n](x);
    return x;
}

int main(int argc, char **argv) {
    no_core();
    if (argc > 1) {
        // Executed under the filter.
        say_number("executed ", run_all(9));
        leave(21);
    }
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        static const int first[] = {SYS_write,  SYS_exit_group, SYS_clone,
                                    SYS_fork,   SYS_wait4,      SYS_set_robust_list,
                                    SYS_getpid, SYS_gettid,     SYS_rt_sigprocmask,
                                    SYS_prctl,  SYS_seccomp,    -1};
        if (confine(first, SECCOMP_RET_KILL_PROCESS, 0)) leave(98);
        long inner = syscall(SYS_fork);
        if (!inner) {
            say_number("child ", run_all(2));
            static const int second[] = {SYS_write, SYS_exit_group, -1};
            struct sock_fprog program = only(second, SECCOMP_RET_ERRNO | EPERM);
            if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) leave(98);
            say_number("refused ", -syscall(SYS_getpid) + 1000 + errno);
            leave(5);
        }
        int status = 0;
        syscall(SYS_wait4, inner, &status, 0, 0);
        say_number("parent ", run_all(3) + status);
        leave(6);
    }
    report_child("forked", child);
    child = fork();
    if (!child) {
        // What the C library's start-up needs, and no more than that.
        static const int some[] = {SYS_write,
                                   SYS_exit_group,
                                   SYS_execve,
                                   SYS_brk,
                                   SYS_mmap,
                                   SYS_munmap,
                                   SYS_mprotect,
                                   SYS_openat,
                                   SYS_open,
                                   SYS_read,
                                   SYS_pread64,
                                   SYS_close,
                                   SYS_fstat,
                                   SYS_newfstatat,
                                   SYS_access,
                                   SYS_arch_prctl,
                                   SYS_set_tid_address,
                                   SYS_set_robust_list,
                                   SYS_rseq,
                                   SYS_prlimit64,
                                   SYS_getrandom,
                                   SYS_uname,
                                   SYS_readlink,
                                   SYS_readlinkat,
                                   SYS_setrlimit,
                                   -1};
        if (confine(some, SECCOMP_RET_KILL_PROCESS, 0)) leave(98);
        syscall(SYS_execve, "/proc/self/exe", ((char *[]){argv[0], "again", 0}), ((char *[]){0}));
        leave(99);
    }
    report_child("executed", child);
    FINISH();
}
