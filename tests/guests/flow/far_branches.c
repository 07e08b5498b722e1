// Far branches that user code may take within 64-bit mode: lretq, ljmp and lcall through
// memory with the own code selector, iretq. (The 32-bit offsets need code below 4 GB.)
//@ variants: nopie static
#include "guest.h"
extern u64 far_return(void), far_jump(void), far_call(void), interrupt_return(void);
asm(".text\n"
    "far_return: mov %cs, %eax; push %rax; lea 1f(%rip), %rax; push %rax; lretq\n ud2\n 1: mov $1, "
    "%eax; ret\n"
    "far_jump: sub $24, %rsp; movl $2f, (%rsp); mov %cs, 4(%rsp); ljmp *(%rsp)\n ud2\n"
    " 2: add $24, %rsp; mov $2, %eax; ret\n"
    "far_call: sub $24, %rsp; movl $3f, (%rsp); mov %cs, 4(%rsp); lcall *(%rsp)\n"
    " add $24, %rsp; ret\n 3: mov $3, %eax; lret\n"
    "interrupt_return: mov %rsp, %rcx; mov %ss, %eax; push %rax; push %rcx; pushfq; mov %cs, %eax; "
    "push %rax\n"
    " lea 4f(%rip), %rax; push %rax; iretq\n ud2\n 4: mov $4, %eax; ret\n");
int main(void) {
    for (int i = 0; i < 50; i++) {
        SAME(far_return(), 1);
        SAME(far_jump(), 2);
        SAME(far_call(), 3);
        SAME(interrupt_return(), 4);
    }
    FINISH();
}
