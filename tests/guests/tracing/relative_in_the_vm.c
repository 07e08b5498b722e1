// Threads are stopped by a tracer that shares their memory wherever they are, also where they
// have a lock of the VM's, as they always do with ever new code; and one that reads at the end
// of its memory. The tracer must get on (a leak checker's, ppin's own helper).
//@ variants: pie static
#include "guest.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

enum { THREADS = 2, ROUNDS = 40, SIZE = 65536, PAGE = 4096 };
static pid_t all[THREADS + 1];
static volatile int begun, steps, sum;
static char stack[65536];

// The tracer's own code is new as well.
#define FRESH(n)                                                                                   \
    static __attribute__((noinline)) int fresh##n(int x) {                                         \
        return x * n + (x & 1 ? fresh_base : n);                                                   \
    }
static volatile int fresh_base = 3;
FRESH(5)
FRESH(7) FRESH(11) FRESH(13) FRESH(17) FRESH(19) FRESH(23)
    FRESH(29) static int (*const fresh[])(int) = {fresh5,  fresh7,  fresh11, fresh13,
                                                  fresh17, fresh19, fresh23, fresh29};

static const unsigned char code[] = {0xb8, 5, 0, 0, 0, 0xc3};

// Each function ends with the memory that can be read.
static void *generate(void *nth) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    all[1 + (long)nth] = syscall(SYS_gettid);
    __sync_fetch_and_add(&begun, 1);
    for (;;) {
        unsigned char *memory = mmap(0, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int page = 0; page < SIZE; page += 2 * PAGE) {
            mprotect(memory + page + PAGE, PAGE, PROT_NONE);
            unsigned char *last = memory + page + PAGE - sizeof code;
            memcpy(last, code, sizeof code);
            steps += ((int (*)(void))last)();
        }
        munmap(memory, SIZE);
    }
}

// Passes on what is not a stop of its own.
static void pass_stops(pid_t tid) {
    int status;
    ptrace(PTRACE_INTERRUPT, tid, 0, 0);
    while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) && status >> 16 == 0)
        ptrace(PTRACE_CONT, tid, 0, WSTOPSIG(status));
}

static int tracer(void *which) {
    int status, n = *(int *)which;
    for (int i = 0; i <= THREADS; i++)
        if (n % 2 == 0) {
            if (ptrace(PTRACE_ATTACH, all[i], 0, 0) != 0)
                _exit(1);
            while (waitpid(all[i], &status, __WALL) == all[i] && WSTOPSIG(status) != SIGSTOP)
                ptrace(PTRACE_CONT, all[i], 0, WSTOPSIG(status));
        } else {
            if (ptrace(PTRACE_SEIZE, all[i], 0, 0) != 0)
                _exit(2);
            usleep(1000);
            pass_stops(all[i]);
        }
    sum += fresh[n % 8](n);
    for (int i = 0; i <= THREADS; i++)
        ptrace(PTRACE_DETACH, all[i], 0, 0);
    _exit(0);
}

int main(void) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    all[0] = getpid();
    for (long n = 0; n < THREADS; n++) {
        pthread_t thread;
        pthread_create(&thread, 0, generate, (void *)n);
    }
    while (begun < THREADS)
        sched_yield();
    for (int n = 0; n < ROUNDS; n++) {
        int status = -1;
        pid_t child = clone(tracer, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES, &n);
        CHECK(child > 0);
        CHECK(waitpid(child, &status, __WALL) == child);
        CHECK(status == 0);
    }
    printf("%d\n", sum);
    FINISH();
}
