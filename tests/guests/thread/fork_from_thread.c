// fork from several threads at once: each child has one thread, runs code that is new to
// it, and can start threads itself.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static void *inner(void *a) { return (void *)((long)a * 3); } static int results[4];
static void *body(void *a) {
    for (int r = 0; r < 10; r++) {
        pid_t k = fork();
        if (!k) {
            pthread_t t;
            void *v;
            pthread_create(&t, 0, inner, (void *)(long)(r + 1));
            pthread_join(t, &v);
            _exit((long)v);
        }
        int s;
        waitpid(k, &s, 0);
        results[(long)a] += WEXITSTATUS(s);
    }
    return 0;
}
int main(void) {
    pthread_t t[4];
    for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, body, (void *)i);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], 0);
        SAME(results[i], 165);
    }
    FINISH();
}
