// pthread_cancel: deferred at cancellation points (read, sleep, condition wait) and
// asynchronous in computation; cleanup handlers run, join says PTHREAD_CANCELED.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static int cleaned, ready; static void clean(void *a) { __sync_fetch_and_add(&cleaned, 1); }
static void *body(void *a) {
    pthread_cleanup_push(clean, 0);
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    int p[2];
    char x;
    pipe(p);
    int old;
    if ((long)a == 3) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    __sync_fetch_and_add(&ready, 1);
    if ((long)a == 0) read(p[0], &x, 1);
    if ((long)a == 1) sleep(100);
    if ((long)a == 2) {
        pthread_mutex_lock(&m);
        pthread_cond_wait(&c, &m);
    }
    for (;;) {
        u64 w = 1;
        KEEP(w);
    }
    pthread_cleanup_pop(0); return 0;
}
int main(void) {
    for (int r = 0; r < 10; r++) {
        pthread_t t[4];
        ready = 0;
        for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, body, (void *)i);
        while (*(volatile int *)&ready < 4) usleep(100);
        for (int i = 0; i < 4; i++) {
            pthread_cancel(t[i]);
            void *v;
            pthread_join(t[i], &v);
            SAME(v, PTHREAD_CANCELED);
        }
    }
    SAME(cleaned, 40);
    FINISH();
}
