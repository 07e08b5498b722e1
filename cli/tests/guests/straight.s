# Starts without libc: loops, calls, indirect branches, flags, strings, and what
# differs from process to process.
    .globl _start
    .text
_start:
    cpuid
    rdtsc
    mov $39, %eax                   # getpid
    syscall
    mov %eax, %edi
    mov $62, %eax                   # kill(getpid(), 0)
    xor %esi, %esi
    syscall
    mov $50, %ebp
1:  call twice
    lea twice(%rip), %rdx
    call *%rdx
    dec %ebp
    jnz 1b
    lea buffer(%rip), %rdi
    mov $64, %ecx
    mov $7, %al
    rep stosb
    pushf
    pop %rax
    std
    pushf
    pop %rbx
    cld
    movq %rax, %xmm3
    paddq %xmm3, %xmm3
    lea 2f(%rip), %rax
    jmp *%rax
    ud2
2:  mov $1, %eax
    mov $1, %edi
    lea text(%rip), %rsi
    mov $5, %edx
    syscall
    mov $231, %eax
    mov $7, %edi
    syscall
twice:
    lea 1(%rsi,%rsi), %rsi
    cmp $100, %rsi
    ret
    .data
text: .ascii "done\n"
    .bss
buffer: .skip 64
