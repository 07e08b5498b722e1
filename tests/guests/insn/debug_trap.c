// int1 (0xf1): SIGTRAP behind the instruction (at it on some virtual machines, for ever,
// so the handler helps), handled, ignored and at its default.
//@ variants: pie static
#include "guest.h"

extern char at[], behind[];

static void on_trap(int signal, siginfo_t *info, void *context) {
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    printf("signal %d, code %d, trap %lld, error %lld, rip %+lld, address %+ld\n", signal,
           info->si_code, regs[REG_TRAPNO], regs[REG_ERR], regs[REG_RIP] - (greg_t)at,
           (char *)info->si_addr - at);
    regs[REG_RIP] = (greg_t)behind;
}

__attribute__((noinline)) static int trap(void) {
    int kept = 41;
    __asm__ volatile("stc\n .globl at, behind\nat: .byte 0xf1\nbehind: adc $0, %0" : "+r"(kept));
    return kept;
}

static void in_child(const char *name, void (*handler)(int)) {
    fflush(stdout);
    if (fork() == 0) {
        signal(SIGTRAP, handler);
        printf("%s: %d\n", name, trap());
        fflush(stdout);
        _exit(3);
    }
    int status;
    wait(&status);
    printf("%s ended: %x\n", name, status & ~0x80);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, 0);
    for (int i = 0; i < 3; i++) printf("%d\n", trap());
    in_child("ignored", SIG_IGN);
    in_child("default", SIG_DFL);
    return 0;
}
