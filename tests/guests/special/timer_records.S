// Two timers, whose signals come at any instruction of a block with seven accesses to memory, and
// while the other's waits; the handler makes accesses in other places. The number of handler
// entries is written to descriptor 1 as eight bytes; each entry makes four accesses, and each round
// seven.
//@ variants: nostdlib
    .globl _start
_start:
    mov $13, %eax                   // rt_sigaction(SIGALRM)
    mov $14, %edi
    lea action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $13, %eax                   // rt_sigaction(SIGPROF)
    mov $27, %edi
    lea action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $38, %eax                   // setitimer(ITIMER_PROF)
    mov $2, %edi
    lea timer(%rip), %rsi
    xor %edx, %edx
    syscall
    mov $38, %eax                   // setitimer(ITIMER_REAL)
    xor %edi, %edi
    lea timer(%rip), %rsi
    xor %edx, %edx
    syscall
    mov $1000000, %r12d
again:
    push %rbx
    push %rbp
    mov a(%rip), %rax
    mov %rax, b(%rip)
    mov (%rsp), %rcx
    pop %rbp
    pop %rbx
    dec %r12d
    jnz again
    mov $14, %eax                   // rt_sigprocmask(SIG_BLOCK, both)
    xor %edi, %edi
    lea mask(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $1, %eax
    mov $1, %edi
    lea count(%rip), %rsi
    mov $8, %edx
    syscall
    mov $231, %eax
    xor %edi, %edi
    syscall
handler:
    incq count(%rip)
    push %rdi
    pop %rdi
    ret
restorer:
    mov $15, %eax
    syscall
    .data
action: .quad handler, 0x14000000, restorer, 0
timer: .quad 0, 100, 0, 100
mask: .quad 0x4002000
count: .quad 0
a: .quad 0
b: .quad 0
    .section .note.GNU-stack,"",@progbits
