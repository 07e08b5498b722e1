// Shared code whose file is made shorter, and shared code that may only be executed: the
// fault is the program's own, at the program's own address, with its registers.
#include "guest.h"
#include <setjmp.h>
static sigjmp_buf back; static u64 pc, address, ax, flags; static int signo, code_;
static void on_fault(int s, siginfo_t *i, void *c) {
    signo = s;
    code_ = i->si_code;
    pc = GREG(c, REG_RIP);
    address = (u64)i->si_addr;
    ax = GREG(c, REG_RAX);
    flags = GREG(c, REG_EFL) & 0x8d5;
    siglongjmp(back, 1);
}
static void jump(u8 *to, u64 value) {
    asm volatile("mov %1, %%rax; cmp $5, %%eax; stc; jmp *%0" ::"r"(to), "r"(value) : "rax");
}
int main(void) {
    on(SIGBUS, on_fault, 0); on(SIGSEGV, on_fault, 0);
    int fd = memfd_create("code", 0);
    ftruncate(fd, 8192);
    u8 *w = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
       *x = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    emit_return(w + 4096, 5);
    emit_return(w + 4093, 6);
    emit_return(w, 8);
    for (int i = 0; i < 50; i++) SAME(((function)(x + 4093))(), 6);
    for (u32 i = 0; i < 20; i++) {
        emit_return(w + 4096, i); for (int k = 0; k < 3; k++) SAME(((function)(x + 4096))(), i);
        ftruncate(fd, 4096);
        if (!sigsetjmp(back, 1)) { jump(x + 4096, 77 + i); }
        SAME(signo, SIGBUS);
        SAME(code_, BUS_ADRERR);
        SAME(pc, (u64)x + 4096);
        SAME(address, (u64)x + 4096);
        SAME(ax, 77 + i);
        SAME(flags & 1, 1);
        ftruncate(fd, 8192); SAME(((function)x)(), 8);
    }
    u8 *only = mmap(0, 4096, PROT_EXEC, MAP_SHARED, fd, 0);
    for (u32 i = 0; i < 20; i++) {
        *(u32 *)(w + 1) = i;
        for (int k = 0; k < 3; k++) SAME(((function)only)(), i);
    }
    for (u32 i = 0; i < 5; i++) {
        mprotect(x, 4096, PROT_NONE);
        if (!sigsetjmp(back, 1)) jump(x, i);
        SAME(signo, SIGSEGV);
        SAME(code_, SEGV_ACCERR);
        SAME(pc, (u64)x);
        SAME(ax, i);
        mprotect(x, 4096, PROT_READ | PROT_EXEC); *(u32 *)(w + 1) = i; SAME(((function)x)(), i);
    }
    FINISH();
}
