// Direct and indirect calls, returns, an indirect jump. Each of the 100 rounds: call (1),
// lea and ret (2), lea and call (2), lea and ret (2), lea and jmp (2), dec and jnz (2).
//@ variants: nostdlib
//@ instructions: 1104
//@ blocks: 601
    .globl _start
_start:
    mov $100, %ebx
again:
    call leaf
    lea leaf(%rip), %rcx
    call *%rcx
    lea 2f(%rip), %rdx
    jmp *%rdx
2:  dec %ebx
    jnz again
    mov $231, %eax
    xor %edi, %edi
    syscall
leaf:
    lea 1(%rax), %rax
    ret
    .section .note.GNU-stack,"",@progbits
