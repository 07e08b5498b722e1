// Threads that jump to many addresses, while another runs so much new code that what is kept of it
// is thrown away again and again.
//@ variants: pie static
//@ cflags: -O1 -pthread
#include "guest.h"
#include <pthread.h>
enum { TARGETS = 64, CHUNKS = 40000, CHUNK = 16 };
static u8 *targets;
static volatile int done;
// mov eax, VALUE; ret
static void write_chunk(u8 *at, u32 value) {
    *at = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
}
static void *branch(void *arg) {
    long wrong = 0;
    for (unsigned i = (unsigned)(long)arg; !done; i++) {
        unsigned n = i * 7 % TARGETS;
        wrong += ((unsigned (*)(void))(targets + n * CHUNK))() != n;
    }
    return (void *)wrong;
}
int main(void) {
    targets = pages(1, PROT_READ | PROT_WRITE);
    u8 *fresh = pages(CHUNKS * CHUNK / 4096 + 1, PROT_READ | PROT_WRITE);
    for (u32 n = 0; n < TARGETS; n++) write_chunk(targets + n * CHUNK, n);
    for (u32 n = 0; n < CHUNKS; n++) write_chunk(fresh + n * CHUNK, n);
    mprotect(targets, 4096, PROT_READ | PROT_EXEC);
    mprotect(fresh, CHUNKS * CHUNK, PROT_READ | PROT_EXEC);
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, branch, (void *)i);
    long wrong = 0;
    for (u32 n = 0; n < CHUNKS; n++)
        wrong += ((unsigned (*)(void))(fresh + n * CHUNK))() != n;
    done = 1;
    for (int i = 0; i < 3; i++) {
        void *theirs;
        pthread_join(threads[i], &theirs);
        wrong += (long)theirs;
    }
    SAME(wrong, 0);
    FINISH();
}
