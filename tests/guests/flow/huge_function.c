// One function with ten thousand branches: traces at their limits, many exits, and
// displacements far beyond 8 bits.
//@ variants: pie static
#include "guest.h"
#define ONE(n) if ((x >> ((n) % 23)) & 1) x = x * 5 + (n); else x ^= x >> 3 ^ (n);
#define TEN(n)                                                                                     \
    ONE(n##0)                                                                                      \
    ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n)                                                                                 \
    TEN(n##0)                                                                                      \
    TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define THOUSAND(n)                                                                                \
    HUNDRED(n##0)                                                                                  \
    HUNDRED(n##1) HUNDRED(n##2) HUNDRED(n##3) HUNDRED(n##4) HUNDRED(n##5) HUNDRED(n##6)            \
        HUNDRED(n##7) HUNDRED(n##8) HUNDRED(n##9)
static __attribute__((noinline, optimize("O0"))) u32 huge(u32 x) {
    THOUSAND(1)
    THOUSAND(2) THOUSAND(3) THOUSAND(4) THOUSAND(5) THOUSAND(6) THOUSAND(7) THOUSAND(8) THOUSAND(9)
        THOUSAND(10) return x;
}
int main(void) {
    u32 h = 0;
    for (u32 i = 0; i < 20; i++) h = h * 31 + huge(i * 2654435761u);
    printf("%08x\n", h);
    FINISH();
}
