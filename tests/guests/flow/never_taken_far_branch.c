// Bytes behind a branch that is never taken, which are no code: translated ahead they are
// calls and operands farther off than translated code reaches.
//@ variants: pie static
#include "guest.h"

__attribute__((noinline)) static int choose(int a) {
    int result;
    asm volatile("test %1, %1\n js 1f\n lea 3(%1), %0\n jmp 2f\n"
                 "1: .byte 0xe8; .long 0x68000000\n"
                 "3: .byte 0x8b, 0x05; .long 0x70000000\n jmp 4f\n"
                 "4: .byte 0xe8; .long 0x78000000\n"
                 "2:" : "=r"(result) : "r"(a));
    return result;
}

int main(void) {
    int sum = 0;
    for (int n = 0; n < 100; n++) sum += choose(n);
    printf("%d\n", sum);
    FINISH();
}
