// A loop of fifty million iterations: the backward branch must stay inside the cache.
//@ timeout: 20
#include "guest.h"
int main(void) {
    u64 x = 1;
    for (u64 i = 0; i < 50000000; i++) {
        x = x * 6364136223846793005 + i;
        KEEP(x);
    }
    printf("%016lx\n", x);
    FINISH();
}
