// Signals between a call and the callee's first push. The word below the stack is what an earlier
// push has left there, or 0, as behind calls: no address of the translation.
#include "under_signals.h"

typedef unsigned long u64;

extern void calls(u64 times);
extern char callee[], pushes[];
__asm__(".globl calls, callee, pushes\n"
        "calls: push %rbx; mov %rdi, %rbx\n"
        "1: call callee; dec %rbx; jnz 1b\n"
        "pop %rbx; ret\n"
        "callee: endbr64\n"
        "pushes: push $77; pop %rax; ret\n");

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    u64 at = regs[REG_RIP];
    if (at == (u64)callee || at == (u64)pushes) {
        u64 below = *(u64 *)(regs[REG_RSP] - 8);
        strange += below != 77 && below != 0;
    }
    got++;
}

static void work(void) {
    calls(1000);
}

int main(void) {
    return under_signals(handler, work);
}
