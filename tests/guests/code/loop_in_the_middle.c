// A loop begins in the middle of what leads to it, in code of the program's file: it runs as it is,
// when it has been changed in between, and when it changes itself.
#include "guest.h"
int adds_up(void), changes_itself(void);
extern u8 added, added_itself;
__asm__(".pushsection .text\n"
        ".balign 4096\n"
        "adds_up: xor %eax, %eax\n mov $5, %ecx\n"
        "1: add $1, %eax\n dec %ecx\n jnz 1b\n ret\n"
        ".set added, 1b + 2\n"
        "changes_itself: xor %eax, %eax\n mov $5, %ecx\n"
        "2: add $1, %eax\n mov %cl, 2b+2(%rip)\n dec %ecx\n jnz 2b\n ret\n"
        ".set added_itself, 2b + 2\n"
        ".balign 4096\n"
        ".popsection\n");
static void may(int protection) {
    SAME(mprotect((void *)((uintptr_t)&added & -4096), 4096, protection | PROT_READ), 0);
}
int main(void) {
    for (int round = 0; round < 3; round++) {
        SAME(adds_up(), 5);
        may(PROT_WRITE);
        added = 7;
        may(PROT_EXEC);
        SAME(adds_up(), 35);
        may(PROT_WRITE | PROT_EXEC);
        SAME(changes_itself(), 15);
        SAME(adds_up(), 35);
        added = 2;
        SAME(adds_up(), 10);
        added = added_itself = 1;
        SAME(changes_itself(), 15);
        added_itself = 1;
        may(PROT_EXEC);
    }
    FINISH();
}
