// First calls of many stubs, as the linker makes them for functions of other images; then calls of
// two functions in turn that are 64 KiB apart.
//@ variants: pie static
//@ cflags: -O1
//@ run: 1000000 => exit 0
#include "guest.h"
#include <stdlib.h>

extern void call_stubs(void);
extern long one(long), two(long);
__asm__(".set STUBS, 200\n"
        ".section .data.rel.ro, \"aw\"\n"
        ".balign 4096\ncells: .set n, 0\n"
        ".rept STUBS\n.quad functions + 8 * n\n.set n, n + 1\n.endr\n"
        ".balign 4096\n"
        ".text\n.globl call_stubs, one, two\n"
        "call_stubs: sub $8, %rsp\n.set n, 0\n"
        ".rept STUBS\ncall stubs + 16 * n\n.set n, n + 1\n.endr\n"
        "add $8, %rsp\nret\n"
        ".balign 16\nstubs: .set n, 0\n"
        ".rept STUBS\n.balign 16\nendbr64\njmp *(cells + 8 * n)(%rip)\n.set n, n + 1\n.endr\n"
        ".balign 8\nfunctions:\n.rept STUBS\n.balign 8\nendbr64\nret\n.endr\n"
        ".balign 65536\none: endbr64\nlea 1(%rdi), %rax\nret\n"
        ".balign 65536\ntwo: endbr64\nlea 3(%rdi, %rdi), %rax\nret\n");

int main(int argc, char **argv) {
    long (*volatile functions[])(long) = {one, two}, times = argc > 1 ? atol(argv[1]) : 0, sum = 0;
    call_stubs();
    for (long n = 0; n < times; n++) sum = functions[n & 1](sum & 0xffff);
    return sum < 0;
}
