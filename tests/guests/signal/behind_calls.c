// Signals between calls and the returns behind them, level by level up the stack: the handler finds
// the program's values in the registers that returns go by, and may give them others.
//@ variants: pie nopie
//@ cflags: -O1
//@ libs: -pthread
#include "under_signals.h"

typedef unsigned long u64;

extern struct pair {
    u64 rcx, rdx;
} climb(u64 levels);
extern char behind[], ends[], leaf[], leaf_ends[];
__asm__(".globl climb, behind, ends, leaf, leaf_ends\n"
        "climb: call level\n"
        "mov %rcx, %rax; ret\n"
        "level: sub $1, %rdi; jz leaf\n"
        "sub $24, %rsp\n"
        "mov %rdi, 8(%rsp)\n"
        "call level\n"
        "behind: mov 8(%rsp), %r8; lea 3(%r8), %r9; add %r8, %r9; mov %r9, %rsi\n"
        "mov %rsi, 16(%rsp); xor %r9, %r8; add $24, %rsp\n"
        "ret\n"
        "ends: nop\n"
        "leaf: mov $0x1111, %ecx; mov $0x2222, %edx\n"
        "leaf_ends: ret\n");

static u64 rcx = 0x1111, rdx = 0x2222;
static volatile int within;

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    char *at = (char *)regs[REG_RIP];
    if (at >= behind && at < ends) {
        strange += (u64)regs[REG_RCX] != rcx || (u64)regs[REG_RDX] != rdx;
        regs[REG_RCX] = (greg_t)(rcx += 0x10001);
        regs[REG_RDX] = (greg_t)(rdx += 0x30003);
        within++;
    }
    got++;
}

static void work(void) {
    rcx = 0x1111, rdx = 0x2222;
    struct pair found = climb(2000);
    strange += found.rcx != rcx || found.rdx != rdx;
}

int main(void) {
    int failed = under_signals(handler, work);
    if (!within)
        puts("no signal came to code behind a call");
    return failed || !within;
}
