// System call numbers that do not exist give ENOSYS, and all registers but rax, rcx and
// r11 are as before; rcx and r11 hold what the instruction puts there.
//@ variants: pie static
#include "guest.h"
int main(void) {
    static const long numbers[] = {-1,   999, 1000000, 400, 1023, 0x40000000, 0x7fffffffffffffff,
                                   -4096};
    for (int r = 0; r < 20; r++) for (unsigned i = 0; i < sizeof numbers / 8; i++) {
            u64 a = numbers[i], b = 1, d = 4, S = 5, D = 6, c, k, here, flags;
            register u64 r8 asm("r8") = 7;
            register u64 r9 asm("r9") = 8;
            register u64 r10 asm("r10") = 9;
            register u64 r12 asm("r12") = 10;
            register u64 r15 asm("r15") = 11;
            asm volatile(
                "stc; syscall\n1: pushfq; pop %[f]; mov %%rcx, %[c]; mov %%r11, %[k]; lea "
                "1b(%%rip), %[h]"
                : "+a"(a), "+b"(b), "+d"(d), "+S"(S), "+D"(D), "+r"(r8), "+r"(r9), "+r"(r10),
                  "+r"(r12),
                  "+r"(r15), [c] "=m"(c), [k] "=m"(k), [h] "=&r"(here), [f] "=&r"(flags)::"rcx",
                  "r11", "memory", "cc");
            SAME(a, -ENOSYS);
            SAME(b, 1);
            SAME(d, 4);
            SAME(S, 5);
            SAME(D, 6);
            SAME(r8, 7);
            SAME(r9, 8);
            SAME(r10, 9);
            SAME(r12, 10);
            SAME(r15, 11);
            SAME(c, here);
            SAME(k, flags);
            SAME(flags & 1, 1);
    }
    FINISH();
}
