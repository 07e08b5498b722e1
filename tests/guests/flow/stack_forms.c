// Pushes, pops, calls and jumps whose operand is rsp or relative to it: a translation
// that pushes something first would see a moved rsp.
//@ variants: pie static
#include "guest.h"
extern u64 forms(u64 *out);
asm(".text\nforms: push %rbx; push %rbp; mov %rsp, %rbp\n"
    "push %rsp; pop %rax; sub %rbp, %rax; mov %rax, (%rdi)\n" // push rsp stores the old value
    "push %rsp; pop %rsp; mov %rsp, %rax; sub %rbp, %rax; mov %rax, 8(%rdi)\n"
    "push $11; push (%rsp); pop %rax; pop %rcx; add %rcx, %rax; mov %rax, 16(%rdi)\n"
    "push $1; push $2; pop (%rsp); pop %rax; mov %rax, 24(%rdi)\n" // address after the increment
    "push $5; push $6; push $7; pop 8(%rsp); pop %rax; pop %rcx; mov %rax, 32(%rdi); mov %rcx, "
    "40(%rdi)\n"
    "lea 1f(%rip), %rax; push %rax; push $0; call *8(%rsp)\n"
    "add $16, %rsp; jmp 2f\n"
    "1: mov $77, %ebx; ret\n"
    "2: mov %rbx, 48(%rdi)\n"
    "lea 3f(%rip), %rax; push %rax; jmp *(%rsp)\n"
    "3: pop %rcx; sub %rax, %rcx; mov %rcx, 56(%rdi)\n"
    "lea 4f(%rip), %rax; push $1; push $2; push %rax; ret $16\n"
    "4: mov %rsp, %rax; sub %rbp, %rax; mov %rax, 64(%rdi)\n"
    "push $9; mov %rsp, %rax; lea 8(%rsp), %rsp; mov -8(%rsp), %rcx; mov %rcx, 72(%rdi)\n"
    "xchg %rax, %rsp; xchg %rsp, %rax; mov %rsp, %rax; sub %rbp, %rax; mov %rax, 80(%rdi)\n"
    "enter $32, $0; mov %rsp, %rax; sub %rbp, %rax; leave; mov %rax, 88(%rdi)\n"
    "lea 5f(%rip), %rax; call *%rax\n"
    "5: pop %rcx; sub %rax, %rcx; mov %rcx, 96(%rdi)\n" // a call to the next instruction
    "pushw $0x1234; pushw $0x5678; movl (%rsp), %eax; add $4, %rsp; mov %rax, 104(%rdi)\n"
    "mov %rbp, %rsp; pop %rbp; pop %rbx; ret\n");
int main(void) {
    u64 out[14];
    forms(out);
    static const u64 want[14] = {0, 0, 22, 2, 6, 7, 77, 0, 0, 9, 0, (u64)-32, 0, 0x12345678};
    for (int i = 0; i < 14; i++) printf("%d %lx\n", i, out[i]);
    for (int i = 0; i < 14; i++) SAME(out[i], want[i]);
    FINISH();
}
