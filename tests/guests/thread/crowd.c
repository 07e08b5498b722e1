// More threads at once than have a whole table of indirect jumps: each calls through pointers,
// jumps through a table, handles a signal and jumps to address 0.
//@ variants: pie nopie static
//@ cflags: -O1 -pthread
#include "guest.h"
#include <pthread.h>
#include <setjmp.h>

#define THREADS 96

static pthread_barrier_t all;
static _Thread_local sigjmp_buf back;
static _Thread_local volatile int handled;

static u64 one(u64 x) { return 3 * x + 1; }
static u64 two(u64 x) { return x ^ 0x5555; }
static u64 three(u64 x) { return x >> 3 | x << 61; }
static u64 (*volatile functions[])(u64) = {one, two, three};

static u64 jump(u64 x) {
    switch (x % 7) {
        case 0: return x + 11;
        case 1: return x * 13;
        case 2: return x ^ 17;
        case 3: return x - 19;
        case 4: return x << 1;
        case 5: return ~x;
        default: return x / 3;
    }
}

static void to_nowhere(int signal) {
    handled += signal == SIGSEGV;
    siglongjmp(back, 1);
}

static void noted(int signal) { handled += signal == SIGUSR1; }

static void *work(void *result) {
    u64 x = (u64)(size_t)result;
    pthread_barrier_wait(&all);
    for (int n = 0; n < 2000; n++) {
        x = functions[n % 3](x);
        x = jump(x);
    }
    pthread_kill(pthread_self(), SIGUSR1);
    void (*volatile nowhere)(void) = 0;
    if (!sigsetjmp(back, 1)) nowhere();
    pthread_barrier_wait(&all);
    return (void *)(size_t)(x + handled);
}

int main(void) {
    pthread_t threads[THREADS];
    u64 sum = 0;
    signal(SIGSEGV, to_nowhere);
    signal(SIGUSR1, noted);
    pthread_barrier_init(&all, 0, THREADS);
    for (size_t n = 0; n < THREADS; n++) pthread_create(&threads[n], 0, work, (void *)n);
    for (int n = 0; n < THREADS; n++) {
        void *result;
        pthread_join(threads[n], &result);
        sum = 31 * sum + (u64)(size_t)result;
    }
    printf("%llx\n", (unsigned long long)sum);
    return 0;
}
