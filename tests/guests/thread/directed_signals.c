// pthread_kill reaches the thread it names, per-thread masks hold, and a process signal
// goes to one that has it open.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static __thread int mine; static int counts[4]; static volatile int stop, ready;
static void handler(int s, siginfo_t *i, void *c) { mine++; }
static void *body(void *a) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask((long)a == 2 ? SIG_UNBLOCK : SIG_BLOCK, &set, 0);
    __sync_fetch_and_add(&ready, 1);
    while (!stop) {
        u64 w = 1;
        KEEP(w);
        if ((long)a & 1) usleep(50);
    }
    counts[(long)a] = mine;
    return 0;
}
int main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    on(SIGUSR1, handler, SA_RESTART);
    on(SIGUSR2, handler, SA_RESTART);
    on(SIGRTMIN + 1, handler, SA_RESTART);
    pthread_t t[4];
    for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, body, (void *)i);
    while (ready < 4) usleep(100);
    for (int r = 0; r < 50; r++) for (int i = 0; i < 4; i++) pthread_kill(t[i], SIGRTMIN + 1);
    kill(getpid(), SIGUSR2);
    usleep(30000);
    stop = 1;
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    for (int i = 0; i < 4; i++) SAME(counts[i], 50 + (i == 2)); SAME(mine, 0);
    FINISH();
}
