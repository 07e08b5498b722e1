// Mutexes, condition variables and barriers between eight threads: a bounded queue whose
// sum is known.
//@ libs: -lpthread
//@ variants: pie static
#include "guest.h"
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t gate; static int queue[8], fill; static u64 sum;
static void *producer(void *a) {
    pthread_barrier_wait(&gate);
    for (int i = 1; i <= 5000; i++) {
        pthread_mutex_lock(&m);
        while (fill == 8) pthread_cond_wait(&empty, &m);
        queue[fill++] = i;
        pthread_cond_signal(&full);
        pthread_mutex_unlock(&m);
    }
    return a;
}
static void *consumer(void *a) {
    pthread_barrier_wait(&gate);
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&m);
        while (!fill) pthread_cond_wait(&full, &m);
        sum += queue[--fill];
        pthread_cond_signal(&empty);
        pthread_mutex_unlock(&m);
    }
    return a;
}
int main(void) {
    pthread_t t[8]; pthread_barrier_init(&gate, 0, 8);
    for (long i = 0; i < 8; i++) pthread_create(&t[i], 0, i % 2 ? producer : consumer, (void *)i);
    for (long i = 0; i < 8; i++) { void *r; pthread_join(t[i], &r); SAME(r, i); }
    SAME(sum, 4 * 12502500L);
    FINISH();
}
