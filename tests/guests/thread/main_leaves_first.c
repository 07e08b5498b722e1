// The main thread ends with pthread_exit while others go on; the last one's return ends
// the process with status 0.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>

static pthread_t before[4];

static void *body(void *number) {
    long n = (long)number;
    SAME(pthread_join(before[n - 1], 0), 0);
    printf("thread %ld\n", n);
    fflush(stdout);
    if (n == 3)
        return 0;
    before[n] = pthread_self();
    pthread_t next;
    SAME(pthread_create(&next, 0, body, (void *)(n + 1)), 0);
    return 0;
}

int main(void) {
    before[0] = pthread_self();
    pthread_t first;
    SAME(pthread_create(&first, 0, body, (void *)1), 0);
    puts("main");
    fflush(stdout);
    pthread_exit(0);
}
