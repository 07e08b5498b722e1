# Exits with 0 if all registers are zero at the first instruction, as the kernel
# leaves them, and the flags are its own; otherwise with 1.
    .globl _start
_start:
    or %rbx, %rax
    or %rcx, %rax
    or %rdx, %rax
    or %rsi, %rax
    or %rdi, %rax
    or %rbp, %rax
    or %r8, %rax
    or %r9, %rax
    or %r10, %rax
    or %r11, %rax
    or %r12, %rax
    or %r13, %rax
    or %r14, %rax
    or %r15, %rax
    mov $0, %edi
    jz 1f
    mov $1, %edi
1:  mov $231, %eax
    syscall
