// One thread writes and runs code while another sets the protection that it has again: no
// store ever fails, and no call runs what was there before the store.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
typedef int (*code)(void);
static u8 *p; static volatile int over;
static void *writer(void *arg) {
    for (int i = 0; !over; i++) {
        u8 text[] = {0xb8, i & 127, 0, 0, 0, 0xc3};
        memcpy(p, text, sizeof text);
        SAME(((code)p)(), i & 127);
    }
    return 0;
}
int main(void) {
    p = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    pthread_t t; pthread_create(&t, 0, writer, 0);
    for (int i = 0; i < 3000; i++) {
        SAME(mprotect(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
        if (i % 16 == 0) usleep(20);
    }
    over = 1; pthread_join(t, 0);
    FINISH();
}
