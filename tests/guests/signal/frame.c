// The signal frame as the kernel writes it: flags, mask, saved vector state with its
// magic, the stack pointer's distance and alignment, the restorer as return address.
#include "guest.h"
static u64 sp; static void handler(int s, siginfo_t *i, void *c) {
    ucontext_t *u = c;
    u8 *fp = (u8 *)u->uc_mcontext.fpregs;
    u32 magic1, size, extended;
    u64 features;
    printf("flags %lx link %d mask %lx signo %d code %d\n", u->uc_flags, u->uc_link != 0,
           *(u64 *)&u->uc_sigmask, i->si_signo, i->si_code);
    memcpy(&magic1, fp + 464, 4);
    memcpy(&extended, fp + 468, 4);
    memcpy(&features, fp + 472, 8);
    memcpy(&size, fp + 480, 4);
    printf("magic %x size %u extended %u features %lx\n", magic1, size, extended, features);
    u32 magic2;
    memcpy(&magic2, fp + size, 4);
    printf("magic2 %x\n", magic2);
    SAME((u64)fp % 64, 0);
    SAME(GREG(c, REG_RSP), sp);
    SAME((u64)c % 16, 0);
    CHECK((u64)fp + extended <= sp - 128);
    CHECK((u64)c < (u64)fp);
    printf("gap %ld cs/ss %llx old mask %llx\n", (long)((u64)fp - (u64)c) / 4096,
           GREG(c, REG_CSGSFS), GREG(c, REG_OLDMASK));
    struct {
        u64 handler, flags, restorer, mask;
    } now;
    syscall(SYS_rt_sigaction, s, 0, &now, 8);
    SAME(((u64 *)c)[-1], now.restorer);
    SAME(now.handler, handler);
    SAME((u64)i - (u64)c, 304);
    SAME(GREG(c, REG_EFL) & 0x100, 0);
    SAME(GREG(c, REG_ERR) | GREG(c, REG_TRAPNO) | GREG(c, REG_CR2), 0);
}
int main(void) {
    on(SIGUSR1, handler, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGRTMIN + 5);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (int i = 0; i < 3; i++)
        asm volatile("mov %%rsp, %0; mov $39, %%eax; syscall; mov %%eax, %%edi; mov $10, %%esi; "
                     "mov $62, %%eax; syscall"
                     : "=m"(sp)::"rax", "rcx", "r11", "rdi", "rsi", "memory");
    FINISH();
}
