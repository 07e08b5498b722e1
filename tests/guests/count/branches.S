// Branches taken and not taken, loop and jrcxz, a loop entered in its middle.
//@ variants: nostdlib
    .globl _start
_start:
    mov $300, %ebx
    jmp middle
again:
    test $1, %bl
    jz 1f
    inc %rax
1:  test $2, %bl
    jnz 2f
    inc %rax
    inc %rax
2:  mov $5, %ecx
3:  add %rcx, %rax
    loop 3b
    jrcxz middle
    ud2
middle:
    nop
    dec %ebx
    jnz again
    mov $231, %eax
    xor %edi, %edi
    syscall
    .section .note.GNU-stack,"",@progbits
