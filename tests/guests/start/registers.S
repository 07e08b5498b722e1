// All registers as the kernel leaves them at a static program's entry: zero, but for
// rsp. Anything else would be a trace of the launcher, and some start code relies on it.
//@ variants: nostdlib
    .globl _start
_start:
    mov %rsp, saved_rsp(%rip)
    pushfq
    orq %rax, %rbx
    orq %rcx, %rbx
    orq %rdx, %rbx
    orq %rsi, %rbx
    orq %rdi, %rbx
    orq %rbp, %rbx
    orq %r8, %rbx
    orq %r9, %rbx
    orq %r10, %rbx
    orq %r11, %rbx
    orq %r12, %rbx
    orq %r13, %rbx
    orq %r14, %rbx
    orq %r15, %rbx
    mov $1, %edi
    test %rbx, %rbx
    jne fail
    inc %edi                        // 2: arithmetic flags, DF, TF, AC clear
    pop %rax
    test $0x40dd5, %eax
    jne fail
    inc %edi                        // 3: SSE control word
    stmxcsr word(%rip)
    cmpl $0x1f80, word(%rip)
    jne fail
    inc %edi                        // 4: x87 control word
    fnstcw word(%rip)
    cmpw $0x37f, word(%rip)
    jne fail
    inc %edi                        // 5: xmm registers
    por %xmm1, %xmm0
    por %xmm2, %xmm0
    por %xmm7, %xmm0
    por %xmm15, %xmm0
    ptest %xmm0, %xmm0
    jne fail
    inc %edi                        // 6: stack alignment
    testq $15, saved_rsp(%rip)
    jne fail
    inc %edi                        // 7: argc and the end of argv
    mov saved_rsp(%rip), %rax
    cmpq $1, (%rax)
    jne fail
    cmpq $0, 16(%rax)
    jne fail
    xor %edi, %edi
fail:
    mov $231, %eax
    syscall
    .bss
    .balign 8
saved_rsp: .quad 0
word: .quad 0
    .section .note.GNU-stack,"",@progbits
