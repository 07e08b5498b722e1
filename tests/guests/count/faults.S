// A block that faults in its middle, a hundred times: the faulting instruction did not
// complete and does not count, those before it do, those after it when they come.
//@ variants: nostdlib
    .globl _start
_start:
    mov $13, %eax                   // rt_sigaction(SIGSEGV)
    mov $11, %edi
    lea action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $100, %ebx
again:
    inc %r12
    inc %r12
    mov 8, %eax                     // faults
    inc %r13                        // the handler skips to here
    inc %r13
    dec %ebx
    jnz again
    cmp $200, %r12d
    jne bad
    cmp $200, %r13d
    jne bad
    mov $231, %eax
    xor %edi, %edi
    syscall
bad:
    ud2
handler:
    addq $7, 168(%rdx)              // past the load, in the saved rip
    ret
restorer:
    mov $15, %eax
    syscall
    .data
action: .quad handler, 0x04000004, restorer, 0
    .section .note.GNU-stack,"",@progbits
