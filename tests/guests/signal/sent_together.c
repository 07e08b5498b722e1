// Signals that a program blocks, all pending, let loose at once: those of faults first,
// each once, their handlers nested as the kernel nests them; and a fault's signal sent on
// the heels of another one, which must not take its place.
//@ variants: pie static
//@ libs: -lpthread
//@ timeout: 60
#include "guest.h"
#include <pthread.h>

static const int all[] = {SIGUSR1, SIGSEGV, 40, SIGTRAP, SIGBUS, SIGTERM, SIGILL, SIGFPE};
static char order[256];
static volatile int taken[65], depth;

static void note(int signal) {
    taken[signal]++;
    sprintf(order + strlen(order), " %d/%d", signal, ++depth);
    depth--;
}

static void together(int flags, int mask_all) {
    struct sigaction action = {.sa_handler = note, .sa_flags = flags};
    if (mask_all) sigfillset(&action.sa_mask);
    sigset_t set, old;
    sigemptyset(&set);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        sigaction(all[i], &action, 0);
        sigaddset(&set, all[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &old);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) kill(getpid(), all[i]);
    sigset_t pending;
    sigpending(&pending);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) SAME(sigismember(&pending, all[i]), 1);
    *order = 0;
    sigprocmask(SIG_SETMASK, &old, 0);
    printf("flags %x, mask %d:%s\n", flags, mask_all, order);
}

static pthread_t target;
static volatile int wanted;
static void *sender(void *unused) {
    for (int round = 1; round <= 100; round++) {
        pthread_kill(target, SIGUSR1);
        pthread_kill(target, round & 1 ? SIGTRAP : SIGSEGV);
        while (taken[SIGUSR1] < round || taken[SIGTRAP] + taken[SIGSEGV] < round) sched_yield();
    }
    wanted = 1;
    return unused;
}

static void count(int signal) { taken[signal]++; }

int main(void) {
    together(0, 0);
    together(SA_NODEFER, 0);
    together(0, 1);
    memset((void *)taken, 0, sizeof taken);
    signal(SIGUSR1, count), signal(SIGTRAP, count), signal(SIGSEGV, count);
    target = pthread_self();
    pthread_t thread;
    pthread_create(&thread, 0, sender, 0);
    volatile u64 sum = 0;
    while (!wanted) sum += sum * 3 + 1;
    pthread_join(thread, 0);
    printf("%d %d\n", taken[SIGUSR1], taken[SIGTRAP] + taken[SIGSEGV]);
    return 0;
}
