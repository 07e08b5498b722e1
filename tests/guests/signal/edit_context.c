// A handler changes the interrupted context: rip, general registers, flags, xmm, the
// signal mask. Execution goes on with exactly that, after faults and after kill.
//@ variants: pie static
#include "guest.h"
extern u8 landing[]; static volatile int where;
static void handler(int s, siginfo_t *i, void *c) {
    ucontext_t *u = c;
    if (s == SIGSEGV) GREG(c, REG_RIP) = (u64)landing;
    GREG(c, REG_RBX) = 0x1111;
    GREG(c, REG_R15) = 0x2222;
    GREG(c, REG_RCX) = 0x3333;
    GREG(c, REG_R11) = 0x4444;
    GREG(c, REG_RAX) = 0x5555;
    GREG(c, REG_EFL) |= 0x801; u->uc_mcontext.fpregs->_xmm[6].element[0] = 0x6666;
    sigaddset(&u->uc_sigmask, SIGUSR2);
}
int main(void) {
    on(SIGSEGV, handler, 0); on(SIGUSR1, handler, 0);
    for (int r = 0; r < 50; r++) {
        u64 b, f, c, k, a; u32 x, m; int o = 0;
        asm volatile("pxor %%xmm6, %%xmm6; xor %%r15d, %%r15d; xor %%ecx, %%ecx; mov %%ecx, "
                     "(%%rcx); ud2\n.globl landing\nlanding: pushfq; pop %1; mov %%r15, %2; movd "
                     "%%xmm6, %3"
                     : "=b"(b), "=&r"(f), "=&r"(k), "=&r"(x), "=c"(c), "=a"(a)::"r15", "r11",
                       "xmm6", "cc", "memory");
        SAME(b, 0x1111);
        SAME(f & 0x801, 0x801);
        SAME(k, 0x2222);
        SAME(x, 0x6666);
        SAME(c, 0x3333);
        SAME(a, 0x5555);
        asm volatile("pxor %%xmm6, %%xmm6; mov $39, %%eax; syscall; mov %%eax, %%edi; mov $10, "
                     "%%esi; mov $62, %%eax; syscall; setc %b1; mov %%r11, %2; movd %%xmm6, %3"
                     : "=b"(b), "+&r"(o), "=&r"(k), "=&r"(x), "=c"(c), "=a"(a)::"r15", "r11", "rdi",
                       "rsi", "xmm6", "cc", "memory");
        SAME(b, 0x1111);
        SAME(o, 1);
        SAME(k, 0x4444);
        SAME(x, 0x6666);
        SAME(c, 0x3333);
        SAME(a, 0x5555);
        sigset_t mask;
        sigprocmask(SIG_BLOCK, 0, &mask);
        SAME(sigismember(&mask, SIGUSR2), 1);
        SAME(sigismember(&mask, SIGUSR1), 0);
        sigemptyset(&mask); sigprocmask(SIG_SETMASK, &mask, 0);
    }
    FINISH();
}
