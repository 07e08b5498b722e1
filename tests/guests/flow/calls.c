// Direct, indirect, memory-indirect, variadic and tail calls, mutual recursion.
//@ variants: pie nopie static static-pie musl
//@ cflags: -O2 -fno-inline
#include "guest.h"
#include <stdarg.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int odd(unsigned n);
static int even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
static int odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }
static int ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
static int sum(int n, ...) {
    va_list l;
    va_start(l, n);
    double s = 0;
    while (n--) s += va_arg(l, double);
    va_end(l);
    return s;
}
static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
static int mul(int a, int b) { return a * b; }
static int (*volatile table[])(int, int) = {add, sub, mul};
static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
int main(void) {
    int total = 0, list[1000];
    for (int i = 0; i < 30000; i++) total = (total + table[i % 3](i, 7)) % 65521;
    for (int i = 0; i < 1000; i++) list[i] = i * 7919 % 1009;
    qsort(list, 1000, sizeof *list, compare);
    printf("%d %d %d %d %d %d\n", fib(22), even(1000001), ackermann(2, 300), sum(3, 1.0, 2.5, 3.5),
           total, list[500]);
    FINISH();
}
