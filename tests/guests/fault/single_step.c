// A program that sets its own trap flag sees a SIGTRAP after each of its instructions,
// with the addresses one after another.
//@ variants: pie static
#include "guest.h"
static u64 at[64]; static int n; extern u8 first[];
static void handler(int s, siginfo_t *i, void *c) {
    if (n < 64) at[n++] = GREG(c, REG_RIP);
    SAME(i->si_code, TRAP_TRACE);
}
int main(void) {
    on(SIGTRAP, handler, 0);
    asm volatile("pushfq; orq $0x100, (%%rsp); popfq\n.globl first\nfirst: nop; mov $3, %%eax; 1: "
                 "dec %%eax; jnz 1b; lea 2f(%%rip), %%rcx; jmp *%%rcx; 2: pushfq; andq $~0x100, "
                 "(%%rsp); popfq; nop; nop" ::
                     : "rax", "rcx", "memory", "cc");
    for (int i = 0; i < n; i++) printf("%ld ", at[i] - (u64)first);
    puts("");
    FINISH();
}
