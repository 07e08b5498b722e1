// Answers each line of its input, while two threads compute and one waits in a system call.
// The program ends beside them. (`tests/e2e/detach.rs` runs it, too.)
//@ variants: pie
#include "guest.h"
#include <pthread.h>

static volatile u64 sum;
static void *compute(void *step) {
    for (;;) sum += (u64)step;
}
static void *wait_for_ever(void *nothing) {
    for (;;) pause();
    return nothing;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, compute, (void *)1);
    pthread_create(&thread, 0, compute, (void *)2);
    pthread_create(&thread, 0, wait_for_ever, 0);
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        printf("got %s", line);
        fflush(stdout);
    }
    FINISH();
}
