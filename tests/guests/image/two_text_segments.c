// A program whose code lies in several executable segments, one of them also writable,
// one far away, with calls between them.
//@ variants: pie nopie static
//@ cflags: -Wl,-z,separate-code -Wl,--section-start=.farcode=0x10000000
#include "guest.h"
__attribute__((section(".farcode"), noinline)) int far_add(int a) { return a + 1000; }
asm(".section .mixed,\"awx\",@progbits\n.globl mixed, mixed_value\nmixed: mov mixed_value(%rip), "
    "%eax; add %edi, %eax; incl mixed_value(%rip); ret\nmixed_value: .long 5\n.text\n");
extern int mixed(int), mixed_value;
int main(void) {
    int s = 0;
    for (int i = 0; i < 1000; i++) s += far_add(i) + mixed(i) - mixed_value;
    printf("%d %d\n", s, mixed_value);
    FINISH();
}
