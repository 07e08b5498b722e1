// One block of 2000 instructions: traces end at their limits, the block does not.
// 1 + 10 * 2002 + 3 instructions, 11 blocks.
//@ variants: nostdlib
//@ instructions: 20024
//@ blocks: 11
    .globl _start
_start:
    mov $10, %ebx
again:
    .rept 2000
    inc %rax
    .endr
    dec %ebx
    jnz again
    mov $231, %eax
    xor %edi, %edi
    syscall
    .section .note.GNU-stack,"",@progbits
