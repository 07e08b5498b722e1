// Prefixes that mean nothing where they stand: rep ret, bnd and notrack branches, branch
// hints, segment overrides, several operand sizes, a REX prefix that is overruled.
//@ variants: pie static
#include "guest.h"
extern u64 odd(u64);
asm(".text\nodd: xor %eax, %eax; test %edi, %edi\n"
    ".byte 0x2e, 0x74, 0x03\n inc %eax; nop\n"                  // cs je
    ".byte 0x3e, 0x75, 0x00\n"                                  // ds jne
    ".byte 0xf2, 0xe8; .long 1f - . - 4\n"                      // bnd call
    ".byte 0x3e, 0xff, 0xd1\n"                                  // notrack call *rcx
    ".byte 0x48, 0x66, 0x90\n"                                  // rex ignored before 66
    ".byte 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
    ".byte 0x40, 0x50, 0x41, 0x58\n"                            // rex push rax; pop r8
    ".byte 0x26, 0x64, 0x48, 0x8d, 0x40, 0x01\n"                // segment overrides on lea
    ".byte 0x48, 0xeb, 0x00\n"                                  // rex jmp
    ".byte 0x36, 0x65, 0x2e, 0x3e, 0x26, 0x90\n"
    ".byte 0xf2, 0xc3\n"                                        // bnd ret
    "1: lea 2f(%rip), %rcx; add $10, %eax; .byte 0xf3, 0xc3\n"  // rep ret
    "2: add $100, %eax; .byte 0x48, 0xc3\n");                   // rex.w ret
int main(void) {
    for (int i = 0; i < 100; i++) {
        SAME(odd(0), 111);
        SAME(odd(5), 112);
    }
    FINISH();
}
