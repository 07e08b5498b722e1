// Signals between a call of what only jumps through a sealed cell, as the linker makes it for
// functions of other images, and the function's first push. The word below the stack is what an
// earlier push has left there, or 0. The cell is changed meanwhile.
//@ variants: pie nopie static static-pie
//@ cflags: -O1
//@ libs: -pthread
#include "under_signals.h"
#include <stdlib.h>
#include <sys/mman.h>

typedef unsigned long u64;

extern u64 cell;
extern void calls(u64 times);
extern char stub[], stub_ends[], behind[], one[], two[];
__asm__(".section .data.rel.ro, \"aw\"\n"
        ".balign 4096\ncell: .globl cell\n.quad one\n.zero 4088\n"
        ".text\n.globl calls, stub, stub_ends, behind, one, two\n"
        "calls: push %rbx; mov %rdi, %rbx\n"
        "1: call stub\nbehind: dec %rbx; jnz 1b\n"
        "pop %rbx; ret\n"
        "stub: endbr64; jmp *cell(%rip)\n"
        "stub_ends:\n"
        "one: push $77; pop %rax; ret\n"
        "two: endbr64; push $77; pop %rax; ret\n");

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    u64 at = regs[REG_RIP], *stack = (u64 *)regs[REG_RSP];
    if ((at >= (u64)stub && at <= (u64)one) || at == (u64)two) {
        strange += stack[-1] != 77 && stack[-1] != 0;
        strange += stack[0] != (u64)behind;
    }
    got++;
}

static void lead_to(char *function) {
    if (mprotect(&cell, 4096, PROT_READ | PROT_WRITE)) exit(1);
    *(volatile u64 *)&cell = (u64)function;
    if (mprotect(&cell, 4096, PROT_READ)) exit(1);
}

static void work(void) {
    static unsigned turn;
    if (turn++ % 64 == 0) lead_to(turn & 64 ? two : one);
    calls(1000);
}

int main(void) { return under_signals(handler, work); }
