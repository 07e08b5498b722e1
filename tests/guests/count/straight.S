// The shortest program: three instructions, one block.
//@ variants: nostdlib
//@ instructions: 3
//@ blocks: 1
//@ run: => exit 7
    .globl _start
_start:
    mov $231, %eax
    mov $7, %edi
    syscall
    .section .note.GNU-stack,"",@progbits
