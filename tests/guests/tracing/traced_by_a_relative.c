// A process that shares memory with its tracer, as a leak checker's does: it is stopped and
// let go at once, and nobody waits for it to be left to itself.
//@ variants: pie static
#include "guest.h"
#include <sys/prctl.h>
#include <sys/ptrace.h>

static pid_t main_thread;
static volatile int stopped, done;
static char stack[65536];

static int tracer(void *nothing) {
    int status = 0;
    long attached = ptrace(PTRACE_ATTACH, main_thread, 0, 0);
    if (attached == 0) {
        waitpid(main_thread, &status, __WALL);
        stopped = status;
        ptrace(PTRACE_DETACH, main_thread, 0, 0);
    }
    done = 1;
    _exit(attached == 0 ? 0 : 1);
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

int main(void) {
    int status;
    double longest = 0;
    main_thread = getpid();
    for (int n = 0; n < 3; n++) {
        double start = now();
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        pid_t child = clone(tracer, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES, 0);
        while (!done)
            sched_yield();
        done = 0;
        waitpid(child, &status, __WALL);
        longest = now() - start > longest ? now() - start : longest;
        printf("stopped %#x, ended %#x\n", stopped, status);
    }
    CHECK(longest < 1.5);
    FINISH();
}
