// A process that shares the memory of its creator goes on when that has ended: it translates
// new code, makes calls and ends with a status of its own.
#include "guest.h"
#include <sys/prctl.h>

static char stack[1 << 16] __attribute__((aligned(16)));
static volatile int going;

static int child(void *code) {
    for (u32 n = 0; n < 2000; n++) {
        u8 *at = (u8 *)code + n * 16;
        emit_return(at, n);
        if (((function)at)() != n) return 1;
        going = 1;
        if (n % 100 == 99) usleep(1000);
    }
    int file = open("/dev/null", O_WRONLY);
    return write(file, "x", 1) == 1 ? 42 : 2;
}

int main(void) {
    // The child's child is ours when its creator has gone.
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    for (int n = 0; n < 6; n++) {
        int status;
        pid_t middle = fork();
        if (!middle) {
            u8 *code = pages(8, 7);
            clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, code);
            while (!going) sched_yield();
            if (n % 2) raise(SIGTERM);
            _exit(n);
        }
        SAME(waitpid(middle, &status, 0), middle);
        SAME(status, n % 2 ? SIGTERM : n << 8);
        CHECK(wait(&status) > 0);
        SAME(status, 42 << 8);
    }
    FINISH();
}
