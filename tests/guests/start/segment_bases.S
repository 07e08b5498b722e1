// FS and GS bases are zero at entry, as the kernel leaves them: an engine that keeps
// its thread area on one of them must not let the program see it.
//@ variants: nostdlib
    .globl _start
_start:
    mov $158, %eax                  // arch_prctl(ARCH_GET_FS)
    mov $0x1003, %edi
    lea word(%rip), %rsi
    syscall
    mov $1, %edi
    cmpq $0, word(%rip)
    jne fail
    movq $-1, word(%rip)
    mov $158, %eax                  // arch_prctl(ARCH_GET_GS)
    mov $0x1004, %edi
    lea word(%rip), %rsi
    syscall
    mov $2, %edi
    cmpq $0, word(%rip)
    jne fail
    xor %edi, %edi
fail:
    mov $231, %eax
    syscall
    .bss
    .balign 8
word: .quad 0
    .section .note.GNU-stack,"",@progbits
