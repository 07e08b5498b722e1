// Gathers, and wide vector operands with compressed displacements, in the gs segment.
//@ needs: fsgsbase avx512f avx512vl
//@ cflags: -O1 -mavx512f -mavx512vl
#include "guest.h"
static _Alignas(64) u32 block[64];
int main(void) {
    for (int i = 0; i < 64; i++) block[i] = i * 3;
    asm volatile("wrgsbase %0" ::"r"(block));
    u32 index[16], out[16]; for (int i = 0; i < 16; i++) index[i] = (i * 7) & 31;
    asm volatile("vmovdqu32 %1, %%zmm1; kxnorw %%k1, %%k1, %%k1; vpgatherdd %%gs:(,%%zmm1,4), "
                 "%%zmm2%{%%k1%}; vmovdqu32 %%zmm2, %0"
                 : "=m"(out)
                 : "m"(index)
                 : "xmm1", "xmm2", "k1");
    for (int i = 0; i < 16; i++) SAME(out[i], index[i] * 3);
    asm volatile("vmovdqu %1, %%ymm1; vpcmpeqd %%ymm3, %%ymm3, %%ymm3; vpgatherdd %%ymm3, "
                 "%%gs:16(%2,%%ymm1,4), %%ymm2; vmovdqu %%ymm2, %0"
                 : "=m"(out)
                 : "m"(index), "r"(8ul)
                 : "xmm1", "xmm2", "xmm3");
    for (int i = 0; i < 8; i++) SAME(out[i], index[i] * 3 + 18);
    asm volatile("vmovdqu32 %%gs:64(%1), %%zmm4; vpaddd %%gs:128(%1)%{1to16%}, %%zmm4, %%zmm4; "
                 "vpaddd %%gs:4%{1to16%}, %%zmm4, %%zmm4; vmovdqu32 %%zmm4, %0"
                 : "=m"(out)
                 : "r"(0ul)
                 : "xmm4");
    for (int i = 0; i < 16; i++) SAME(out[i], (16 + i) * 3 + 96 + 3);
    asm volatile("kmovw %2, %%k2; vmovdqu32 %0, %%zmm5; vpscatterdd %%zmm5, "
                 "%%gs:(,%%zmm1,4)%{%%k2%}" ::"m"(out),
                 "m"(index), "r"(5)
                 : "xmm5", "k2", "memory");
    SAME(block[index[0]], out[0]); SAME(block[index[2]], out[2]);
    FINISH();
}
