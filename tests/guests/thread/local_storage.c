// Thread-local storage: initial values, addresses apart, keys with destructors, in a
// thread and in the main program.
//@ libs: -lpthread
//@ variants: pie nopie static
#include "guest.h"
#include <pthread.h>
static __thread int counter = 7;
static __thread char big[5000];
static pthread_key_t key;
static int destroyed;
static void destroy(void *p) { __sync_fetch_and_add(&destroyed, (long)p); }
static void *body(void *a) {
    SAME(counter, 7);
    SAME(big[4999], 0);
    big[4999] = 1;
    for (int i = 0; i < 1000; i++) counter++;
    pthread_setspecific(key, a);
    SAME(pthread_getspecific(key), a);
    return &counter;
}
int main(void) {
    pthread_key_create(&key, destroy); counter = 1;
    pthread_t t[10]; for (long i = 0; i < 10; i++) pthread_create(&t[i], 0, body, (void *)(i + 1));
    for (int i = 0; i < 10; i++) { void *r; pthread_join(t[i], &r); CHECK(r != &counter); }
    SAME(counter, 1); SAME(destroyed, 55);
    FINISH();
}
