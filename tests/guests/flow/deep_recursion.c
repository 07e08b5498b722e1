// A hundred thousand frames deep and back, with a return per frame.
//@ cflags: -O1 -fno-optimize-sibling-calls
#include "guest.h"
static __attribute__((noinline)) long deep(long n) {
    if (n == 0) return 0;
    long r = deep(n - 1);
    KEEP(r);
    return r + n;
}
int main(void) {
    for (int i = 0; i < 3; i++) printf("%ld\n", deep(100000));
    FINISH();
}
