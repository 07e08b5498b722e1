// A process that waits for its supervisor's answer, killably: a signal that has no handler ends
// it, one that has waits.
#include "sandbox.h"
#include <sys/ioctl.h>
#include <sys/wait.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static volatile int hits;
static void handler(int s, siginfo_t *i, void *c) { hits++; }

int main(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, code};
    no_core();
    on(SIGUSR1, handler, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int listener = syscall(
        SYS_seccomp, SECCOMP_SET_MODE_FILTER,
        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
    CHECK(listener >= 0);
    for (int round = 0; round < 2; round++) {
        struct seccomp_notif request = {0};
        struct seccomp_notif_resp answer = {0};
        int status;
        pid_t child = fork();
        if (!child) _exit(syscall(SYS_getppid) == 77 && hits == 1 ? 5 : 1);
        SAME(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request), 0);
        kill(child, round ? SIGUSR1 : SIGTERM);
        if (round) {
            answer.id = request.id, answer.val = 77;
            SAME(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer), 0);
        }
        SAME(waitpid(child, &status, 0), child);
        SAME(status, round ? 5 << 8 : SIGTERM);
    }
    FINISH();
}
