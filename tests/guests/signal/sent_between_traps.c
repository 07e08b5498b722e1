// Signals with the number of a trap, sent to a thread that executes what ppin steps over: a
// trap that has been raised and a signal that is sent then must both be taken, though their
// number does not queue.
//@ libs: -lpthread
//@ timeout: 60
#include "guest.h"
#include <pthread.h>

enum { ROUNDS = 2000 };

static volatile int taken, done;
static pthread_t target;

static void count(int signal) { taken++; }

static void *sender(void *unused) {
    for (int round = 1; round <= ROUNDS; round++) {
        pthread_kill(target, SIGTRAP);
        while (taken < round) sched_yield();
    }
    done = 1;
    return unused;
}

// A far return is left to the processor, with the trap flag set.
static void return_far(void) {
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
                     "mov %%cs, %%eax\n\t"
                     "push %%rax\n\t"
                     "lea 1f(%%rip), %%rax\n\t"
                     "push %%rax\n\t"
                     "lretq\n"
                     "1:\n\t"
                     "lea 128(%%rsp), %%rsp"
                     ::: "rax", "memory");
}

int main(void) {
    signal(SIGTRAP, count);
    target = pthread_self();
    pthread_t thread;
    pthread_create(&thread, 0, sender, 0);
    while (!done) return_far();
    pthread_join(thread, 0);
    printf("%d\n", taken);
    return failures;
}
