// Signals between what begins a callee, or ends a return, and the program's next write to the
// registers that this has taken: the handler finds the program's values in all of them.
#include "under_signals.h"

typedef unsigned long u64;

extern void calls(u64 times);
extern char callee[], callee_sets[], behind[], behind_sets[], behind_set[];
__asm__(".globl calls, callee, callee_sets, behind, behind_sets, behind_set\n"
        "calls: push %rbx; mov %rdi, %rbx\n"
        "1: mov $0x1111, %eax; mov $0x2222, %ecx; mov $0x3333, %edx\n"
        "call callee\n"
        "behind: nop; lea (%rbx), %rsi; nop; nop\n"
        "behind_sets: mov $2, %ecx; mov $3, %edx\n"
        "behind_set: dec %rbx; jnz 1b\n"
        "pop %rbx; ret\n"
        "callee: push %rbx; nop; lea (%rbx), %rsi; nop\n"
        "callee_sets: mov $1, %eax; pop %rbx; ret\n");

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    char *at = (char *)regs[REG_RIP];
    if (at >= callee && at <= callee_sets)
        strange += regs[REG_RAX] != 0x1111 || regs[REG_RCX] != 0x2222;
    if (at >= behind && at <= behind_sets)
        strange += regs[REG_RAX] != 1 || regs[REG_RCX] != 0x2222 || regs[REG_RDX] != 0x3333;
    if (at == behind_set)
        strange += regs[REG_RCX] != 2 || regs[REG_RDX] != 3;
    got++;
}

static void work(void) {
    calls(1000);
}

int main(void) {
    return under_signals(handler, work);
}
