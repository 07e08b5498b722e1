// Faults between what begins a callee, or ends a return, and the program's next write to the
// registers that this has taken: the handler finds the program's values in them.
#define _GNU_SOURCE
#include "guest.h"
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

typedef unsigned long u64;

extern u64 calls(void);
extern u64 *volatile nowhere, *volatile somewhere;
extern char callee[], behind[], stub[], stub_end[];
extern void (**cell)(void);
asm(".globl calls, callee, behind, stub, stub_end, nowhere, somewhere, cell\n"
    "calls: push %rbx; mov $0x1111, %eax; mov $0x2222, %ecx; mov $0x3333, %edx\n"
    "mov nowhere(%rip), %rdi; mov %rdi, %rsi\n"
    "call callee\n"
    "behind: mov (%rsi), %r8; mov $2, %ecx; mov $3, %edx\n"
    "lea (%rax, %rcx, 8), %rbx; lea (%rbx, %rdx, 8), %rbx; add %r8, %rbx\n"
    "mov $0x1111, %eax; mov $0x2222, %ecx; mov $0x3333, %edx\n"
    "call stub\n"
    "add %rbx, %rax; add %rcx, %rax; add %rdx, %rax; pop %rbx; ret\n"
    "callee: push %rbx; mov (%rdi), %r8; mov $1, %eax; pop %rbx; ret\n"
    "stub: endbr64; jmp *far_cell(%rip)\n"
    "stub_end: ret\n"
    ".bss; .balign 4096\n"
    "far_cell: .skip 4096\n"
    "nowhere: .quad 0\nsomewhere: .quad 0\n"
    ".data\n"
    "cell: .quad far_cell\n"
    ".text\n");

static u64 good = 40;
static int strange, faults;

static void handler(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    char *at = (char *)regs[REG_RIP];
    int returned = at == behind;
    strange += regs[REG_RAX] != (returned ? 1 : 0x1111);
    strange += regs[REG_RCX] != 0x2222 || regs[REG_RDX] != 0x3333;
    if (at >= stub && at < stub_end)
        mprotect(cell, 4096, PROT_READ | PROT_WRITE);
    regs[returned ? REG_RSI : REG_RDI] = (u64)somewhere;
    faults++;
}

static void leaf(void) {
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    somewhere = &good;
    *cell = leaf;
    for (int round = 0; round < 100; round++) {
        nowhere = round % 2 ? &good : (u64 *)16;
        mprotect(cell, 4096, round % 3 ? PROT_READ | PROT_WRITE : PROT_NONE);
        u64 sum = calls();
        if (round < 4)
            printf("%lu\n", sum);
    }
    printf("%d faults, %d strange\n", faults, strange);
    FINISH();
}
