// loop, loope, loopne, jrcxz and jecxz: branches with an 8-bit displacement only,
// which a translator must widen without touching flags or the other half of rcx.
//@ variants: pie static
#include "guest.h"
int main(void) {
    u64 count = 1000, sum = 0;
    asm volatile("1: add %0, %1; loop 1b" : "+c"(count), "+r"(sum));
    SAME(sum, 500500);
    SAME(count, 0);
    count = 50, sum = 0;
    asm volatile("1: inc %1; cmp $20, %1; loopne 1b" : "+c"(count), "+r"(sum) : : "cc");
    SAME(sum, 20);
    SAME(count, 30);
    count = 50, sum = 100;
    asm volatile("1: dec %1; cmp $90, %1; setg %%al; cmp $1, %%al; loope 1b"
                 : "+c"(count), "+r"(sum)
                 :
                 : "cc", "rax");
    SAME(sum, 90);
    SAME(count, 40);
    u64 flags, before;
    count = 3;
    asm volatile("xor %%eax, %%eax; sub $1, %%rax; pushfq; pop %2; 1: loop 1b; pushfq; pop %1"
                 : "+c"(count), "=r"(flags), "=&r"(before) : : "cc", "rax");
    SAME(flags, before);
    count = 0x100000000, sum = 0;
    asm volatile("jecxz 1f; mov $1, %1; 1: jrcxz 2f; or $2, %1; 2:" : "+c"(count), "+r"(sum));
    SAME(sum, 2);
    count = 0x500000002, sum = 0;
    asm volatile("1: inc %1; addr32 loop 1b" : "+c"(count), "+r"(sum));
    SAME(sum, 2);
    SAME(count, 0);
    FINISH();
}
