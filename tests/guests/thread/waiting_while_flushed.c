// Threads that wait in the kernel, while another runs so much new code that what is kept of it is
// thrown away again and again: nothing of it may be kept for them, and they go on where they were.
//@ variants: pie static
//@ cflags: -O1 -pthread
#include "new_code.h"
#include <pthread.h>
enum { THREADS = 8, ROUNDS = 16 };
static int pipes[THREADS][2];
// Adds what comes through the thread's pipe.
static void *add(void *arg) {
    long sum = 0, n = (long)arg;
    for (u8 byte; read(pipes[n][0], &byte, 1) == 1;) sum += byte;
    return (void *)sum;
}
int main(void) {
    u8 *code = room_for_chunks();
    pthread_t threads[THREADS];
    for (long n = 0; n < THREADS; n++) {
        SAME(pipe(pipes[n]), 0);
        pthread_create(&threads[n], 0, add, (void *)n);
    }
    long wrong = 0;
    for (u32 round = 1; round <= ROUNDS; round++) {
        wrong += run_all(code, round);
        // One comes back often, the others once or never.
        u8 byte = round;
        if (round % 2) SAME(write(pipes[round % 4 / 2 * (round / 2 % THREADS)][1], &byte, 1), 1);
    }
    SAME(wrong, 0);
    long sum = 0;
    for (int n = 0; n < THREADS; n++) {
        void *theirs;
        close(pipes[n][1]);
        pthread_join(threads[n], &theirs);
        sum += (long)theirs;
    }
    SAME(sum, 1 + 3 + 5 + 7 + 9 + 11 + 13 + 15);
    FINISH();
}
