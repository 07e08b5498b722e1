// The x87 unit remembers the address of its last instruction, and fnstenv shows it: old
// position-independent code learns from it where it runs, and must see its own address.
//@ variants: pie nopie
#include "guest.h"
extern u8 here[];
int main(void) {
    u32 env[7];
    asm volatile("fninit\n.globl here\nhere: fldz\n fnstenv %0; fstp %%st(0)" : "=m"(env));
    SAME(env[3], (u32)(u64)here);
    FINISH();
}
