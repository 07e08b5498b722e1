// A filter as containers have it: it forbids a few calls, and lets all else pass, ours
// included. The program that is executed under it, and what that one forks and executes,
// behave as ever.
//@ variants: pie static
#include "sandbox.h"

static void confine_little(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsid, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    SAME(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    SAME(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

int main(int argc, char **argv) {
    int depth = argc > 1 ? atoi(argv[1]) : 3;
    if (depth == 3) confine_little();
    errno = 0;
    long parent = syscall(SYS_getsid);
    printf("%d: %ld %d\n", depth, parent, errno);
    fflush(stdout);
    if (depth == 0) FINISH();
    char next[2] = {'0' + depth - 1};
    char *args[] = {argv[0], next, 0};
    pid_t child = fork();
    if (!child) execv("/proc/self/exe", args), _exit(99);
    report_child("child", child);
    FINISH();
}
