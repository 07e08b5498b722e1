// A loop that lives entirely in registers, while timer signals arrive between any two of
// its instructions: general registers, flags, xmm and memory below rsp stay as they are.
//@ variants: pie static
#include "guest.h"
static volatile int hits;
static void handler(int s, siginfo_t *i, void *c) {
    hits++;
    u64 junk[40];
    memset(junk, 0xa5, sizeof junk);
    KEEP(junk[0]);
    asm volatile("pcmpeqd %%xmm3, %%xmm3; pcmpeqd %%xmm12, %%xmm12" ::: "xmm3", "xmm12");
}
extern u64 loop(u64 rounds);
asm(".text\nloop: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "mov $1, %eax; mov $2, %ebx; mov $3, %edx; mov $4, %esi; mov $5, %ebp; mov $6, %r8d; mov $7, "
    "%r9d; mov $8, %r10d; mov $9, %r11d; mov $10, %r12d; mov $11, %r13d; mov $12, %r14d; mov $13, "
    "%r15d; mov $14, %ecx\n"
    "movq %rbx, %xmm3; movq %rdx, %xmm12; movq $15, -8(%rsp); movq $16, -120(%rsp); jmp 2f\n"
    "1: xor %eax, %ebx; xor %ebx, %eax; xor %eax, %ebx; add $0, %rax; jc 9f; stc; jnc 9f; lea "
    "(%rdx), %rdx; push %rcx; pop %rcx; call 4f; jmp 5f\n"
    "4: ret\n5: lea 6f(%rip), %rcx; jmp *%rcx; 6: mov $14, %ecx; cmp $5, %rbp; jne 9f; movq $15, "
    "-8(%rsp)\n"
    "2: dec %rdi; jnz 1b\n"
    "movq %xmm3, %rdi; cmp $2, %rdi; jne 9f; movq %xmm12, %rdi; cmp $3, %rdi; jne 9f; cmpq $15, "
    "-8(%rsp); jne 9f; cmpq $16, -120(%rsp); jne 9f\n"
    "add %rbx, %rax; add %rdx, %rax; add %rsi, %rax; add %rbp, %rax; add %r8, %rax; add %r9, %rax; "
    "add %r10, %rax; add %r11, %rax; add %r12, %rax; add %r13, %rax; add %r14, %rax; add %r15, "
    "%rax; add %rcx, %rax\n"
    "8: pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n9: xor %eax, %eax; jmp "
    "8b\n");
int main(void) {
    on(SIGALRM, handler, 0);
    struct itimerval t = {{0, 200}, {0, 200}}; setitimer(ITIMER_REAL, &t, 0);
    int rounds = 0; while (hits < 1000 && rounds++ < 100000) SAME(loop(30001), 105);
    t = (struct itimerval){{0}}; setitimer(ITIMER_REAL, &t, 0);
    CHECK(hits >= 200);
    FINISH();
}
