// exit from a thread ends all of them, with its status, while others compute, sleep in the
// kernel and start threads.
//@ libs: -lpthread
//@ run: => exit 33
#include "guest.h"
#include <pthread.h>
static void *spin(void *a) {
    for (;;) {
        u64 x = 1;
        KEEP(x);
    }
}
static void *sleeper(void *a) {
    for (;;) pause();
}
static void *nothing(void *a) { return 0; }
static void *starter(void *a) {
    for (;;) {
        pthread_t t;
        if (!pthread_create(&t, 0, nothing, 0)) pthread_join(t, 0);
    }
}
static void *leaver(void *a) { usleep(20000); puts("leaving"); exit(33); }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, spin, 0);
    pthread_create(&t, 0, sleeper, 0);
    pthread_create(&t, 0, starter, 0);
    pthread_create(&t, 0, leaver, 0);
    spin(0);
}
