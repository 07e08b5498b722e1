// A signal that comes when it is unblocked finds the program right behind the system call: rcx and
// r11 as the CPU leaves them, the result in rax, the call's arguments in place.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

typedef unsigned long u64;

extern u64 unblock(const u64 *set, u64 flags, u64 *rcx, u64 *r11);
extern char behind[];
// (Flags that the call must keep: carry, or none.)
__asm__(".globl unblock, behind\n"
        "unblock: push %rbx; push %r12; push %r13\n"
        "mov %rdx, %r12; mov %rcx, %r13; mov %rsi, %rbx\n"
        "mov %rdi, %rsi; mov $1, %edi; xor %edx, %edx; mov $8, %r10d\n"
        "add $-1, %rbx\n"
        "mov $14, %eax\n"
        "syscall\n"
        "behind: mov %rcx, (%r12); mov %r11, (%r13)\n"
        "pop %r13; pop %r12; pop %rbx; ret\n");

static volatile sig_atomic_t got;
static int strange;

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    strange += regs[REG_RIP] != (greg_t)behind;
    strange += regs[REG_RCX] != (greg_t)behind;
    strange += regs[REG_R11] != regs[REG_EFL];
    strange += regs[REG_RAX] != 0;
    strange += regs[REG_RDI] != SIG_UNBLOCK || regs[REG_R10] != 8;
    got++;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, 0);
    u64 set = 1UL << (SIGUSR1 - 1), failed = 0;
    for (int i = 0; i < 300; i++) {
        sigprocmask(SIG_BLOCK, (sigset_t *)&set, 0);
        raise(SIGUSR1);
        u64 rcx = 0, r11 = 0;
        failed += unblock(&set, i & 1, &rcx, &r11);
        strange += rcx != (u64)behind;
        strange += (r11 & 1) != (u64)(i & 1);
        strange += got != i + 1;
    }
    printf("%d signals, %lu failed, %d strange\n", (int)got, failed, strange);
    return strange != 0;
}
