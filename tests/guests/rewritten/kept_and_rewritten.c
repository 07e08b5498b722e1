// Code of the program's own file that is made writable, rewritten, and put back before the end:
// what an earlier run has kept of it must not be used without somebody watching for stores. With an
// argument it is executed as it is in the file. (tests/e2e/changed.rs runs it so first.)
//@ variants: pie static
#include "guest.h"
int changed(void);
// Nothing else lies in its page, nor in those beside it.
asm(".section .text.apart, \"ax\"\n .balign 4096\n .skip 4096\n"
    "changed: movl $0x01020304, %eax\n ret\n .balign 4096\n .skip 4096\n .text");
// So much code that what comes before it and what comes behind it are compared apart.
static void much(void) { asm volatile(".rept 8192\n xorl $0x01010101, %%ebx\n .endr" ::: "rbx"); }
int main(int argc, char **argv) {
    u8 *at = (u8 *)changed, *page = (u8 *)((u64)at & ~4095ull);
    if (argc == 1) SAME(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    while (memcmp(at, "\4\3\2\1", 4)) at++;
    much();
    SAME(changed(), 0x01020304);
    if (argc > 1) FINISH();
    *at = 5;
    SAME(changed(), 0x01020305);
    *at = 4;
    SAME(changed(), 0x01020304);
    FINISH();
}
