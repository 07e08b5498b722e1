// A store into the very next instruction: the CPU runs the new bytes at once. In a loop,
// so that the second time the old translation exists already.
//@ variants: nostdlib
//@ cflags: -Wl,-N
//@ run: => exit 77
    .globl _start
_start:
    mov $10, %ebx                   // -N makes text writable, too
    lea patch(%rip), %rdi
    and $-4096, %rdi
    mov $4096, %esi
    mov $7, %edx
    mov $10, %eax
    syscall
    test %eax, %eax
    jnz fail
    xor %r12d, %r12d
again:
    mov %ebx, %eax
    movl %eax, patch+1(%rip)
patch:
    mov $0x7fffffff, %ecx
    add %ecx, %r12d
    dec %ebx
    jnz again
    lea 22(%r12), %edi              // 10 + ... + 1 = 55
    mov $231, %eax
    syscall
fail:
    mov $231, %eax
    mov $1, %edi
    syscall
    .section .note.GNU-stack,"",@progbits
