// A function of the program's own file that is called from many places is patched, again and again:
// all callers reach what it is then. Kept code leads straight to it, from more places than a unit
// has spare stubs for (vm/codecache/src/unit/spare.rs). At the end it is what it was at first, so
// that it is kept.
//@ variants: pie static
#include "guest.h"
enum { CALLERS = 1500 };
u32 answer(void);
// Nothing else lies in its page, nor in those beside it.
asm(".section .text.apart, \"ax\"\n .balign 4096\n .skip 4096\n"
    "answer: movl $0x01020304, %eax\n ret\n .balign 4096\n .skip 4096\n .text");
// (What the compiler keeps below the stack pointer stays as it is.)
static u64 all(void) {
    u64 sum = 0;
    asm volatile("sub $128, %%rsp\n .rept 1500\n call answer\n add %%rax, %0\n jmp 1f\n nop\n 1:\n "
                 ".endr\n add $128, %%rsp"
                 : "+r"(sum)
                 :
                 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    return sum;
}
static void protect(u8 *page, int prot) { SAME(mprotect(page, 4096, prot), 0); }
int main(void) {
    u8 *page = (u8 *)((u64)answer & ~4095ull), *at = page;
    while (memcmp(at, "\4\3\2\1", 4)) at++;
    for (int i = 0; i < 3; i++) SAME(all(), 0x01020304ull * CALLERS);
    for (int round = 1; round <= 6; round++) {
        protect(page, PROT_READ | PROT_WRITE | PROT_EXEC);
        *at = 4 + round % 6;
        if (round % 2 == 0) protect(page, PROT_READ | PROT_EXEC);
        for (int i = 0; i < 3; i++) SAME(all(), (0x01020300ull + *at) * CALLERS);
    }
    protect(page, PROT_READ | PROT_EXEC);
    for (int i = 0; i < 3; i++) SAME(all(), 0x01020304ull * CALLERS);
    FINISH();
}
