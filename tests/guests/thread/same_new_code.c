// Eight threads run code that none has run before, at the same moment, many times over:
// two translators of one trace must not disturb one another.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static pthread_barrier_t gate; static u8 *code;
static void *body(void *a) {
    u64 sum = 0;
    for (int r = 0; r < 200; r++) {
        pthread_barrier_wait(&gate);
        for (int k = 0; k < 20; k++) sum += ((function)(code + r * 400 + k * 16))();
    }
    return (void *)sum;
}
int main(void) {
    code = pages(20, 7);
    for (int r = 0; r < 200; r++)
        for (int k = 0; k < 20; k++) emit_return(code + r * 400 + k * 16, r * k);
    pthread_barrier_init(&gate, 0, 8);
    pthread_t t[8];
    for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, body, 0);
    for (int i = 0; i < 8; i++) { void *v; pthread_join(t[i], &v); SAME(v, 19900 * 190); }
    FINISH();
}
