// A REP-prefixed instruction counts once for each execution, whatever its count, zero
// too, and does not end a block: 1 + 50 * 10 + 3 instructions.
//@ variants: nostdlib
//@ instructions: 504
//@ blocks: 51
    .globl _start
_start:
    mov $50, %ebx
again:
    lea buffer(%rip), %rdi
    mov %ebx, %ecx
    rep stosb
    xor %ecx, %ecx
    rep stosq
    lea buffer(%rip), %rsi
    mov $7, %ecx
    rep movsb
    dec %ebx
    jnz again
    mov $231, %eax
    xor %edi, %edi
    syscall
    .bss
buffer: .skip 4096
    .section .note.GNU-stack,"",@progbits
