// Division by zero and overflow: SIGFPE at the dividing instruction, operands intact; SSE
// exceptions unmasked in MXCSR.
//@ variants: pie static
#include "guest.h"
static int count;
static void handler(int s, siginfo_t *i, void *c) {
    printf("%d code %d rax %llx rdx %llx rcx %llx at-rip %d\n", s, i->si_code, GREG(c, REG_RAX),
           GREG(c, REG_RDX), GREG(c, REG_RCX), (u64)i->si_addr == GREG(c, REG_RIP));
    u8 *p = (u8 *)GREG(c, REG_RIP); printf("%02x%02x%02x\n", p[0], p[1], p[2]);
    if (i->si_code == FPE_FLTDIV) ((ucontext_t *)c)->uc_mcontext.fpregs->mxcsr = 0x1f80;
    GREG(c, REG_RIP) += p[0] == 0xf2 ? 4 : p[0] == 0x48 ? 3 : 2; count++;
}
int main(void) {
    on(SIGFPE, handler, 0);
    for (int r = 0; r < 2; r++) {
        u64 a = 7, d = 0;
        asm volatile("div %%ecx" : "+a"(a), "+d"(d) : "c"(0) : "cc"); SAME(a, 7);
        a = 1L << 63, d = -1;
        asm volatile("idivq %%rcx" : "+a"(a), "+d"(d) : "c"(-1L) : "cc");
        SAME(a, 1L << 63);
        a = 0x1000; asm volatile("div %%cl" : "+a"(a) : "c"(1) : "cc"); SAME(a, 0x1000);
        u32 mx = 0x1f80 & ~0x200; double one = 1, zero = 0;
        asm volatile(
            "ldmxcsr %2; movsd %0, %%xmm1; movsd %1, %%xmm2; divsd %%xmm2, %%xmm1" ::"m"(one),
            "m"(zero), "m"(mx)
            : "xmm1", "xmm2");
    }
    SAME(count, 8);
    FINISH();
}
