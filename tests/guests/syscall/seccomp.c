// A seccomp filter of the program's own: what it forbids fails with its errno or kills,
// what it allows works, and new code runs under it (no call of ours may be hit).
#include "guest.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
static __attribute__((noinline)) int fresh(int x) {
    char t[40];
    sprintf(t, "%d", x * 3);
    return atoi(t);
}
int main(void) {
    struct rlimit none = {0, 0}; setrlimit(RLIMIT_CORE, &none);
    for (int kill_ = 0; kill_ < 2; kill_++) {
        fflush(stdout); pid_t k = fork();
        if (!k) {
            struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                                      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
                                      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
                                      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
                                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
            struct sock_fprog p = {7, f};
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) _exit(9);
            long r = syscall(SYS_getppid);
            char t[40];
            write(1, t, sprintf(t, "%ld %d %d\n", r, errno, fresh(14)));
            if (kill_) syscall(SYS_getuid);
            syscall(SYS_exit_group, 5);
        }
        report_child("filtered", k);
    }
    FINISH();
}
