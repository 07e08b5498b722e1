// A counted loop: 1 + 1000 * 3 + 3 instructions, 1000 + 1 blocks.
//@ variants: nostdlib
//@ instructions: 3004
//@ blocks: 1001
    .globl _start
_start:
    mov $1000, %ecx
1:  add $3, %rax
    dec %ecx
    jnz 1b
    mov $231, %eax
    xor %edi, %edi
    syscall
    .section .note.GNU-stack,"",@progbits
