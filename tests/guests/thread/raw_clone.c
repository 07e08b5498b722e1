// clone as a raw system call: the child returns on its own stack with rax 0, sets and
// clears thread ids, with a TLS base of its own; registers other than rsp are copied.
//@ variants: pie static
#include "guest.h"
#include <linux/futex.h>
static volatile int shared, ctid;
static u64 tls[4];
static char stack[65536] __attribute__((aligned(16)));
int main(void) {
    for (int r = 1; r <= 50; r++) {
        int ptid = 0; ctid = -1; tls[0] = (u64)tls;
        long flags =
            0x3d0f00; // VM FS FILES SIGHAND THREAD SYSVSEM SETTLS PARENT_SETTID CHILD_CLEARTID
        register long r10 asm("r10") = (long)&ctid;
        register long r8 asm("r8") = (long)tls;
        long ret;
        u64 *top = (u64 *)(stack + 65536) - 2;
        top[0] = (u64)&shared;
        ctid = 1;
        asm volatile("mov $0x1234567, %%r12d; mov $56, %%eax; syscall; test %%eax, %%eax; jnz 1f\n"
                     "pop %%rdi; cmp $0x1234567, %%r12; jne 2f; mov %%fs:0, %%rbx; mov %%fs, "
                     "%%ecx; addl $1, (%%rdi); 2: mov $60, %%eax; xor %%edi, %%edi; syscall\n 1:"
                     : "=a"(ret)
                     : "D"(flags), "S"(top), "d"(&ptid), "r"(r10), "r"(r8)
                     : "rcx", "r11", "r12", "rbx", "memory", "cc");
        CHECK(ret > 0); SAME(ptid, ret);
        while (ctid) syscall(SYS_futex, &ctid, FUTEX_WAIT, ctid, 0, 0, 0);
        SAME(shared, r);
    }
    FINISH();
}
