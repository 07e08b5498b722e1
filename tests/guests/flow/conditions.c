// All 16 conditions under all 64 combinations of the six arithmetic flags, as jcc,
// setcc and cmovcc: the three must agree, and the table is printed as a hash.
//@ variants: pie static
#include "guest.h"
#define CONDITIONS(X)                                                                              \
    X(o) X(no) X(b) X(ae) X(e) X(ne) X(be) X(a) X(s) X(ns) X(p) X(np) X(l) X(ge) X(le) X(g)
#define JUMP(cc)                                                                                   \
    {                                                                                              \
        u64 taken = 1;                                                                             \
        asm volatile("push %1; popfq; j" #cc " 1f; mov $0, %0; 1:"                                 \
                     : "+r"(taken)                                                                 \
                     : "r"(flags)                                                                  \
                     : "cc", "memory");                                                            \
        jumps = jumps * 2 + taken;                                                                 \
    }
#define SET(cc)                                                                                    \
    {                                                                                              \
        u8 set;                                                                                    \
        asm volatile("push %1; popfq; set" #cc " %0" : "=q"(set) : "r"(flags) : "cc", "memory");   \
        sets = sets * 2 + set;                                                                     \
    }
#define MOVE(cc)                                                                                   \
    {                                                                                              \
        u64 m = 0;                                                                                 \
        asm volatile("push %1; popfq; cmov" #cc " %2, %0"                                          \
                     : "+r"(m)                                                                     \
                     : "r"(flags), "r"(1L)                                                         \
                     : "cc", "memory");                                                            \
        moves = moves * 2 + m;                                                                     \
    }
int main(void) {
    u64 hash = 14695981039346656037u;
    for (int i = 0; i < 64; i++) {
        u64 flags = 0x202 | (i & 1) | (i & 2) << 1 | (i & 4) << 2 | (i & 8) << 3 | (i & 16) << 3 |
                    (i & 32) << 6;
        u64 jumps = 0, sets = 0, moves = 0;
        CONDITIONS(JUMP) CONDITIONS(SET) CONDITIONS(MOVE)
        SAME(jumps, sets);
        SAME(jumps, moves);
        hash = (hash ^ jumps) * 1099511628211u;
    }
    printf("%016lx\n", hash);
    FINISH();
}
