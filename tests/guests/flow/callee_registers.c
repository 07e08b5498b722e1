// Callees that begin with a push, called with values in all registers that inserted code may take.
#include "guest.h"

typedef unsigned long u64;

extern u64 sum_of_calls(u64 rounds);
asm(".globl sum_of_calls\n"
    "sum_of_calls: push %rbx; mov %rdi, %rbx; xor %r9d, %r9d\n"
    "1: mov $1, %eax; mov $20, %ecx; mov $300, %edx; stc\n"
    "call carry\n"
    "add %rax, %r9; add %rcx, %r9; add %rdx, %r9\n"
    "dec %rbx; jnz 1b\n"
    "mov %r9, %rax; pop %rbx; ret\n"
    "carry: push %rbx; jnc 2f; nop; pop %rbx; ret\n"
    "2: mov $9999, %eax; pop %rbx; ret\n");

int main(void) {
    printf("%lu %lu\n", sum_of_calls(1), sum_of_calls(1000));
    FINISH();
}
