// A system call ends a block: each of 100 rounds has four instructions before and two
// after one, 1 + 100 * 5 + 3 instructions in 100 * 2 + 1 blocks.
//@ variants: nostdlib
//@ instructions: 504
//@ blocks: 201
    .globl _start
_start:
    mov $100, %ebx
again:
    mov $39, %eax
    nop
    syscall
    dec %ebx
    jnz again
    mov $231, %eax
    xor %edi, %edi
    syscall
    .section .note.GNU-stack,"",@progbits
