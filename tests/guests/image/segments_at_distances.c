// A program with two executable segments that differ in the distance between address and
// file offset, as the optimiser BOLT leaves them; code goes back and forth between them.
//@ variants: pie nopie static static-pie
//@ cflags: -Wl,-z,separate-code -Wl,--section-start=.farcode=0x10000000
#include "guest.h"

static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) static int near_mix(int a) { return a * 31 + (a >> 3); }
__attribute__((section(".farcode"), noinline)) static int far_sum(const int *numbers, int count) {
    int sum = 0;
    for (int n = 0; n < count; n++) sum += n & 1 ? near_mix(numbers[n]) : numbers[n] % 7;
    return sum;
}
__attribute__((section(".farcode"), noinline)) static int far_compare(const void *a,
                                                                      const void *b) {
    return -ascending(a, b);
}

int main(void) {
    int numbers[64], seed = 7;
    for (int n = 0; n < 64; n++) numbers[n] = (seed = seed * 1103515245 + 12345) >> 8 & 0xfff;
    qsort(numbers, 64, sizeof *numbers, ascending);
    printf("%d %d\n", numbers[0], far_sum(numbers, 64));
    qsort(numbers, 64, sizeof *numbers, far_compare);
    printf("%d %d\n", numbers[0], far_sum(numbers, 64));
    FINISH();
}
