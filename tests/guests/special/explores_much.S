// Very many traces, each with a branch that is never taken: what lies behind those is more
// than a small code cache holds.
//@ variants: nostdlib
    .globl _start
_start:
    xor %eax, %eax
    .rept 120000
    test %eax, %eax
    jnz 2f
    jmp 1f
2:  mov (%rax), %rax
    call _start
1:
    .endr
    mov $231, %eax
    xor %edi, %edi
    syscall
