// x87 arithmetic, transcendental functions, precision and rounding control, tags and
// the register stack, 80-bit values through memory, comparisons into flags.
//@ variants: pie static
//@ libs: -lm
#include "guest.h"
#include <math.h>
static void show(long double v) {
    u8 b[16] = {0};
    memcpy(b, &v, 10);
    for (int i = 9; i >= 0; i--) printf("%02x", b[i]);
    puts("");
}
int main(void) {
    long double x = 1, y;
    for (int i = 1; i < 40; i++) x = x * 1.1L + 1.0L / i;
    show(x); show(sinl(x)); show(expl(1.5L)); show(logl(x)); show(sqrtl(2)); show(powl(x, 0.37L));
    for (int mode = 0; mode < 4; mode++) {
        unsigned short old, cw;
        asm volatile("fnstcw %0" : "=m"(old));
        cw = (old & ~0xc00) | mode << 10;
        asm volatile("fldcw %1; fld1; fldl2t; fdivrp; fstpt %0; fldcw %2"
                     : "=m"(y)
                     : "m"(cw), "m"(old));
        show(y);
        int r; asm volatile("fldcw %1; fldpi; fistpl %0; fldcw %2" : "=m"(r) : "m"(cw), "m"(old));
        printf("%d\n", r);
    }
    asm volatile("fld1; fldz; fldpi; fxch %%st(2); faddp; fmulp; fstpt %0" : "=m"(y)); show(y);
    u8 below;
    asm volatile("fldz; fld1; fcomip %%st(1), %%st; fstp %%st(0); seta %0" : "=q"(below)::"cc");
    SAME(below, 1);
    unsigned short sw;
    asm volatile("fldz; fld1; fucompp; fnstsw %0" : "=a"(sw));
    printf("%x\n", sw & 0x4500);
    u8 env[108];
    asm volatile("fld1; fldpi; fnsave %0; frstor %0; fstp %%st(0); fstp %%st(0)" : "+m"(env));
    printf("%x\n", env[8] | env[9] << 8);
    FINISH();
}
