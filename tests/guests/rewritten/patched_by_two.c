// Two threads each write and run code of their own on one page: what a thread has written is
// what it runs, whatever the other's stores do to the page meanwhile.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
typedef int (*code)(void);
static u8 *p;
static void *writer(void *arg) {
    u8 *own = p + (long)arg;
    for (int i = 0; i < 4000; i++) {
        u8 text[] = {0xb8, i & 127, 0, 0, 0, 0xc3};
        memcpy(own, text, sizeof text);
        SAME(((code)own)(), i & 127);
        if (i % 64 == 0) usleep(50);
    }
    return 0;
}
int main(void) {
    p = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    pthread_t t[2];
    for (long n = 0; n < 2; n++) pthread_create(&t[n], 0, writer, (void *)(n * 2048));
    for (int n = 0; n < 2; n++) pthread_join(t[n], 0);
    FINISH();
}
