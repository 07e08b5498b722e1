// Known memory accesses, for memtrace: loads, stores, read-modify-write, pushes and pops,
// string operations. The addresses are those of the symbols below.
//@ variants: nostdlib
    .globl _start, cell, text
_start:
    mov cell(%rip), %rax            // read 8
    movb $1, cell+8(%rip)           // write 1
    incl cell+16(%rip)              // read 4, write 4
    movdqu text(%rip), %xmm0        // read 16
    lea text(%rip), %rsi            // none
    nopl (%rsi)                     // none
    movw %ax, cell+24(%rip)         // write 2
    cmpq $0, cell(%rip)             // read 8
    mov $231, %eax
    xor %edi, %edi
    syscall
    .data
    .balign 64
cell: .quad 1, 2, 3, 4
text: .ascii "sixteen bytes..."
    .section .note.GNU-stack,"",@progbits
