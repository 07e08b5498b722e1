// Results and all defined flags of integer arithmetic, shifts, rotates and bit tests on
// edge values, of each width, folded into one hash.
//@ variants: pie static
#include "guest.h"
static const u64 values[] = {0,
                             1,
                             2,
                             0x7f,
                             0x80,
                             0xff,
                             0x7fff,
                             0x8000,
                             0x7fffffff,
                             0x80000000,
                             0xffffffff,
                             0x7fffffffffffffff,
                             0x8000000000000000,
                             0xffffffffffffffff,
                             0x123456789abcdef0};
static u64 hash = 1;
static void mix(u64 v, u64 flags, u64 mask) {
    hash = (hash ^ v ^ (flags & mask) << 13) * 0x9e3779b97f4a7c15 + 1;
}
#define TWO(op, mask)                                                                              \
    for (int w = 0; w < 4; w++) {                                                                  \
        u64 r = a, f;                                                                              \
        if (w == 0)                                                                                \
            asm volatile("push %3; popfq; " op "b %b2, %b0; pushfq; pop %1"                        \
                         : "+q"(r), "=&r"(f)                                                       \
                         : "q"(b), "r"(in)                                                         \
                         : "cc", "memory");                                                        \
        if (w == 1)                                                                                \
            asm volatile("push %3; popfq; " op "w %w2, %w0; pushfq; pop %1"                        \
                         : "+r"(r), "=&r"(f)                                                       \
                         : "r"(b), "r"(in)                                                         \
                         : "cc", "memory");                                                        \
        if (w == 2)                                                                                \
            asm volatile("push %3; popfq; " op "l %k2, %k0; pushfq; pop %1"                        \
                         : "+r"(r), "=&r"(f)                                                       \
                         : "r"(b), "r"(in)                                                         \
                         : "cc", "memory");                                                        \
        if (w == 3)                                                                                \
            asm volatile("push %3; popfq; " op "q %q2, %q0; pushfq; pop %1"                        \
                         : "+r"(r), "=&r"(f)                                                       \
                         : "r"(b), "r"(in)                                                         \
                         : "cc", "memory");                                                        \
        mix(r, f, mask);                                                                           \
    }
#define ONE(op, mask)                                                                              \
    {                                                                                              \
        u64 r = a, f;                                                                              \
        asm volatile("push %2; popfq; " op " %0; pushfq; pop %1"                                   \
                     : "+r"(r), "=&r"(f)                                                           \
                     : "r"(in), "c"(b & 63)                                                        \
                     : "cc", "memory");                                                            \
        mix(r, f, mask);                                                                           \
    }
int main(void) {
    for (unsigned i = 0; i < sizeof values / 8; i++)
        for (unsigned j = 0; j < sizeof values / 8; j++)
            for (int carry = 0; carry < 2; carry++) {
                u64 a = values[i], b = values[j], in = 0x202 | carry;
                TWO("add", 0x8d5)
                TWO("adc", 0x8d5) TWO("sub", 0x8d5) TWO("sbb", 0x8d5) TWO("cmp", 0x8d5)
                    TWO("and", 0x8c5) TWO("or", 0x8c5) TWO("xor", 0x8c5) TWO("test", 0x8c5)
                        TWO("xchg", 0x8d5) ONE("incq", 0x8d5) ONE("decq", 0x8d5) ONE("negq", 0x8d5)
                            ONE("notq", 0x8d5) ONE("bswapq", 0x8d5)
                                ONE("shlq %%cl,", 0xc5 & -(b & 63 ? 1 : 0)) ONE("sarq %%cl,", 0)
                                    ONE("rolq %%cl,", 1) ONE("rcrq %%cl,", 1) ONE("rorq $1,", 0x801)
                                        u64 r = a,
                                            f;
                asm volatile("imulq %2, %0; pushfq; pop %1"
                             : "+r"(r), "=&r"(f)
                             : "r"(b)
                             : "cc", "memory");
                mix(r, f, 0x801);
                u64 lo = a, hi;
                asm volatile("mulq %2" : "+a"(lo), "=d"(hi) : "r"(b) : "cc");
                mix(lo ^ hi, 0, 0);
                if (b) {
                    lo = a;
                    hi = 0;
                    asm volatile("divq %2" : "+a"(lo), "+d"(hi) : "r"(b) : "cc");
                    mix(lo * 3 + hi, 0, 0);
                }
                r = a;
                asm volatile("btsq %2, %0; pushfq; pop %1"
                             : "+r"(r), "=&r"(f)
                             : "r"(b & 63)
                             : "cc", "memory");
                mix(r, f, 1);
                if (b) {
                    asm volatile("bsfq %2, %0; bsrq %2, %1" : "=r"(r), "=r"(f) : "r"(b) : "cc");
                    mix(r * 64 + f, 0, 0);
                }
                r = a; asm volatile("shldq $13, %1, %0" : "+r"(r) : "r"(b) : "cc"); mix(r, 0, 0);
            }
    printf("%016lx\n", hash);
    FINISH();
}
