// Two thousand short threads, up to twenty at a time: start-up, TLS and exit, without a
// growing number of mappings.
//@ libs: -lpthread
//@ variants: pie static musl
#include "guest.h"
#include <pthread.h>
static _Thread_local int own = 5; static int total;
static void *body(void *a) {
    own += (long)a;
    __sync_fetch_and_add(&total, own);
    return (void *)(long)own;
}
static int mappings(void) {
    int n = 0, c;
    FILE *f = fopen("/proc/self/maps", "r");
    while ((c = getc(f)) != EOF) n += c == '\n';
    fclose(f);
    return n;
}
int main(void) {
    int before = 0;
    for (int round = 0; round < 100; round++) {
        pthread_t t[20];
        for (long i = 0; i < 20; i++)
            if (pthread_create(&t[i], 0, body, (void *)i)) return 9;
        for (long i = 0; i < 20; i++) { void *r; pthread_join(t[i], &r); SAME(r, i + 5); }
        if (round == 20) before = mappings();
    }
    CHECK(mappings() < before + 30); SAME(own, 5); SAME(total, 100 * (190 + 100));
    FINISH();
}
