// GCC's nested functions: trampolines on an executable stack, at ever new and re-used
// addresses.
//@ variants: pie static
//@ cflags: -O0 -Wl,-z,execstack
#include "guest.h"
static int apply(int (*f)(int), int n) { return f(n); }
static int round_(int k, int depth) {
    char room[depth * 16 + 1];
    room[0] = k;
    int add(int x) { return x + k + room[0] * 0; }
    return apply(add, depth) + (depth ? round_(k + 1, depth - 1) : 0);
}
int main(void) {
    long sum = 0;
    for (int i = 0; i < 300; i++) sum += round_(i, i % 20);
    printf("%ld\n", sum);
    FINISH();
}
