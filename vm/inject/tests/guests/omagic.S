# Linked with code, data and zeroed data in one writable segment, so that its page
# differs from the file. Exits with 7 if its data and zeros are as they should be.
    .text
    .globl _start
_start:
    mov data(%rip), %edi
    add zeros(%rip), %edi
    add zeros+100(%rip), %edi
    mov $231, %eax
    syscall
    .data
data: .long 7
    .bss
zeros: .skip 200
