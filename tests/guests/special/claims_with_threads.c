// Maps memory where ppin lies while another thread runs.
#include "guest.h"
#include <pthread.h>

static void *sleeper(void *unused) { return pause(), unused; }

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, sleeper, 0);
    puts("before"), fflush(0);
    mmap((void *)0x550000000000, 0x5000000000, 3,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return puts("behind"), 0;
}
