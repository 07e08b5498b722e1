// A run of one-byte instructions entered at each of its addresses: many trace heads
// that overlap, each with its own count of what remains.
//@ variants: pie static
#include "guest.h"
extern u8 sled[];
asm(".text\nsled: .rept 200; .byte 0x48, 0xff, 0xc0; .endr; ret\n");
int main(void) {
    for (int round = 0; round < 3; round++)
        for (u64 i = 0; i < 200; i++) {
            u64 n = 0;
            asm volatile("call *%1" : "+a"(n) : "r"(sled + 3 * i) : "cc", "memory");
            SAME(n, 200 - i);
        }
    u32 low = 0;  // without the REX prefix the same bytes are inc %eax
    asm volatile("call *%1" : "+a"(low) : "r"(sled + 1) : "cc", "memory");
    SAME(low, 200);
    FINISH();
}
