// A fault in the middle of a straight run, after effects and before others: what came
// before has happened, what comes after has not, in registers and memory.
//@ variants: pie static
#include "guest.h"
extern u64 run(u64 *cells, u8 *target); extern u8 fault_point[], resume_point[];
asm(".text\nrun: xor %eax, %eax; mov $1, %ecx; movq $10, (%rdi); lea 5(%rcx), %rcx; add %rcx, "
    "%rax; incq 8(%rdi); push %rcx; push %rax\n"
    ".globl fault_point, resume_point\nfault_point: addl $7, (%rsi)\n"
    "resume_point: pop %rax; pop %rcx; movq $20, (%rdi); add $100, %rax; ret\n");
static u64 cells[2]; static int faults; static u8 *page;
static void handler(int s, siginfo_t *i, void *c) {
    faults++;
    SAME(GREG(c, REG_RIP), fault_point);
    SAME(GREG(c, REG_RAX), 6);
    SAME(GREG(c, REG_RCX), 6);
    SAME(cells[0], 10);
    SAME(cells[1], faults);
    SAME(((u64 *)GREG(c, REG_RSP))[0], 6); SAME(i->si_addr, page); SAME(i->si_code, SEGV_ACCERR);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);   // and the instruction is run again
}
int main(void) {
    on(SIGSEGV, handler, 0);
    page = pages(1, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 10; i++) {
        mprotect(page, 4096, i % 2 ? PROT_READ : PROT_NONE);
        SAME(run(cells, page), 106);
        SAME(cells[0], 20);
    }
    SAME(*(u32 *)page, 70); SAME(faults, 10);
    FINISH();
}
