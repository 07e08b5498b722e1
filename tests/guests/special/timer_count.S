// Timer signals at any instruction of a counted loop. The number of handler entries is
// written to descriptor 1 as eight bytes; each entry adds exactly four instructions, and
// the rest is the same in every run.
//@ variants: nostdlib
    .globl _start
_start:
    mov $13, %eax                   // rt_sigaction(SIGALRM)
    mov $14, %edi
    lea action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $38, %eax                   // setitimer(ITIMER_REAL)
    xor %edi, %edi
    lea timer(%rip), %rsi
    xor %edx, %edx
    syscall
    mov $20000000, %ebx
again:
    inc %r12
    test $1, %r12
    jz 1f
    call leaf
    lea (%r12,%r12), %r13
    jmp 2f
1:  call leaf
    lea 5(%r12), %r13
    inc %r13
2:  dec %ebx
    jnz again
    mov $14, %eax                   // rt_sigprocmask(SIG_BLOCK, SIGALRM)
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
leaf:
    ret
handler:
    incq count(%rip)
    ret
restorer:
    mov $15, %eax
    syscall
    .data
action: .quad handler, 0x14000000, restorer, 0
timer: .quad 0, 500, 0, 500
mask: .quad 0x2000
count: .quad 0
    .section .note.GNU-stack,"",@progbits
