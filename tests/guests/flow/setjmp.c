// setjmp and longjmp over many frames, into main and between nested buffers.
//@ variants: pie static musl
#include "guest.h"
#include <setjmp.h>
static jmp_buf outer, inner;
static __attribute__((noinline)) void down(int n, int value) {
    if (n == 0) longjmp(value % 2 ? outer : inner, value);
    down(n - 1, value);
    puts("returned");
}
int main(void) {
    volatile int sum = 0;
    for (volatile int i = 1; i <= 1000; i++) {
        int got = setjmp(outer);
        if (got == 0) {
            int in = setjmp(inner);
            if (in == 0) down(i % 50, i);
            else sum += in * 2;
        } else sum += got;
    }
    printf("%d\n", sum);
    FINISH();
}
