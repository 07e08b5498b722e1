// int 0x80 in 64-bit code: 32-bit numbers and truncated arguments, r8 to r15 kept.
//@ variants: nopie static
#include "guest.h"
int main(void) {
    static char text[] = "by the old gate\n"; fflush(stdout);
    for (int i = 0; i < 5; i++) {
        long r;
        register u64 r12 asm("r12") = 5;
        asm volatile("int $0x80"
                     : "=a"(r), "+r"(r12)
                     : "a"(4), "b"(1), "c"(text), "d"(sizeof text - 1)
                     : "memory", "r8", "r9", "r10", "r11");
        SAME(r, sizeof text - 1);
        SAME(r12, 5);
        asm volatile("int $0x80" : "=a"(r) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
        SAME(r, getpid());
        asm volatile("int $0x80" : "=a"(r) : "a"(9999) : "memory", "r8", "r9", "r10", "r11");
        SAME((int)r, -ENOSYS);
    }
    FINISH();
}
