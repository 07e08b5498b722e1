// Two overlapping readings of the same bytes: once as one long instruction, once from
// its middle. Fragments are found by address, so both must exist side by side.
//@ variants: nostdlib
//@ run: => exit 42
    .globl _start
_start:
    xor %edi, %edi
    mov $20, %r12d
again:
    jmp outer
outer:
    .byte 0x48, 0xb8                // movabs $imm64, %rax
inner:
    add $2, %edi                    // 3 bytes, hidden in the immediate
    jmp back                        // 2 bytes
    nop
    nop
    nop
    jmp inner
back:
    dec %r12d
    jnz again
    add $2, %edi
    mov $231, %eax
    syscall
    .section .note.GNU-stack,"",@progbits
