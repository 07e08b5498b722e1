// Conditional moves, and string instructions that repeat no times or once: of 4 in each of 3000
// rounds, 1.5 do their work on average.
//@ variants: nostdlib
    .globl _start
_start:
    mov $3000, %ebx
again:
    lea buffer(%rip), %rdi
    test $1, %ebx
    cmovz %r8, %r9
    cmovnz %r9, %r8
    cmovs %rbx, %rdi
    mov %ebx, %ecx
    and $1, %ecx
    rep stosb
    dec %ebx
    jnz again
    mov $231, %eax
    xor %edi, %edi
    syscall
    .bss
buffer: .skip 64
    .section .note.GNU-stack,"",@progbits
