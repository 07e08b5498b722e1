// Children that share their parent's memory without being threads of it are killed at any
// moment, and stopped: the parent goes on. Most of the time they run code for the first time.
#include "guest.h"
#include <sys/syscall.h>

static char stack[1 << 16] __attribute__((aligned(16)));
static volatile int rounds;

// New code again and again.
static int child(void *code) {
    for (u32 n = 0;; n++) {
        u8 *at = (u8 *)code + n % 4000 * 16;
        emit_return(at, n);
        ((function)at)();
        rounds++;
    }
}
static int other(void *code) { return ((function)code)(); }

int main(void) {
    u8 *code = pages(16, 7), *mine = pages(16, 7);
    for (int n = 0; n < 60; n++) {
        int before = rounds, status;
        pid_t pid = clone(child, stack + sizeof stack, CLONE_VM | CLONE_FILES | SIGCHLD, code);
        while (rounds < before + 20) sched_yield();
        if (n % 4 == 0) {
            kill(pid, SIGSTOP);
            SAME(waitpid(pid, &status, WUNTRACED), pid);
            SAME(WIFSTOPPED(status), 1);
        }
        emit_return(mine + n * 16, n);
        SAME(other(mine + n * 16), n);
        if (n % 2) kill(pid, SIGKILL);
        else syscall(SYS_tgkill, pid, pid, SIGKILL);
        SAME(waitpid(pid, &status, 0), pid);
        SAME(WTERMSIG(status), SIGKILL);
        emit_return(mine + n * 16 + 8, n + 1);
        SAME(other(mine + n * 16 + 8), n + 1);
    }
    FINISH();
}
