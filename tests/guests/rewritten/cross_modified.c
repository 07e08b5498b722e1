// One thread changes the target of a jump, by one aligned store, while others run it: each
// call gives the old or the new value, and after a join the new one.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static u8 *p;
static volatile int stop;
static void *runner(void *a) {
    u64 bad = 0;
    while (!stop) {
        u32 v = ((function)p)();
        bad += v != 111 && v != 222;
    }
    return (void *)bad;
}
int main(void) {
    p = pages(1, 7);
    memset(p, 0x90, 3);
    p[3] = 0xe9;
    emit_return(p + 40, 111);
    emit_return(p + 80, 222);
    *(u32 *)(p + 4) = 40 - 8;
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, runner, 0);
    for (int i = 0; i < 300; i++) {
        __atomic_store_n((u32 *)(p + 4), (i % 2 ? 40 : 80) - 8, __ATOMIC_SEQ_CST);
        SAME(((function)p)(), i % 2 ? 111 : 222);
        if (i % 10 == 0) usleep(200);
    }
    stop = 1;
    for (int i = 0; i < 3; i++) {
        void *b;
        pthread_join(t[i], &b);
        SAME(b, 0);
    }
    SAME(((function)p)(), 111);
    FINISH();
}
