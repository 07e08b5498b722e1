// A handler entered from a system call, fifty times: its instructions count like others.
//@ variants: nostdlib
    .globl _start
_start:
    mov $13, %eax                   // rt_sigaction(SIGUSR1)
    mov $10, %edi
    lea action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $50, %ebx
    mov $39, %eax
    syscall
    mov %eax, %r14d
again:
    mov $62, %eax                   // kill(self, SIGUSR1)
    mov %r14d, %edi
    mov $10, %esi
    syscall
    dec %ebx
    jnz again
    cmp $50, %r12d
    jne bad
    mov $231, %eax
    xor %edi, %edi
    syscall
bad:
    ud2
handler:
    incq count(%rip)
    mov count(%rip), %eax
    mov %rax, 72(%rdx)              // r12 after the handler
    ret
restorer:
    mov $15, %eax
    syscall
    .data
action: .quad handler, 0x04000004, restorer, 0
count: .quad 0
    .section .note.GNU-stack,"",@progbits
