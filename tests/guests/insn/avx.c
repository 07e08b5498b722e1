// AVX, AVX2 and FMA: ymm upper halves live over calls, indirect jumps and system calls,
// gathers, vzeroupper.
//@ cflags: -O2 -mavx2 -mfma
//@ needs: avx2 fma
#include "guest.h"
#include <immintrin.h>
int main(void) {
    u64 out[4]; int table[64];
    for (int i = 0; i < 64; i++) table[i] = i * i;
    for (int r = 0; r < 200; r++) {
        u64 in[4] = {r, r + 1, r + 2, r + 3};
        asm volatile("vmovdqu %1, %%ymm1; vmovdqa %%ymm1, %%ymm14; mov $39, %%eax; syscall; lea "
                     "1f(%%rip), %%rax; call 2f; jmp *%%rax\n 2: ret\n 1:"
                     "vpaddq %%ymm14, %%ymm1, %%ymm1; vmovdqu %%ymm1, %0"
                     : "=m"(out)
                     : "m"(in)
                     : "rax", "rcx", "r11", "xmm1", "xmm14", "memory");
        for (int k = 0; k < 4; k++) SAME(out[k], 2 * (r + k));
    }
    __m256i g = _mm256_i32gather_epi32(table, _mm256_setr_epi32(1, 5, 9, 63, 0, 2, 33, 7), 4);
    __m256d d =
        _mm256_fmadd_pd(_mm256_set_pd(1, 2, 3, 4), _mm256_set1_pd(1.1), _mm256_set1_pd(0.3));
    memcpy(out, &g, 32); for (int k = 0; k < 4; k++) printf("%016lx ", out[k]);
    memcpy(out, &d, 32); for (int k = 0; k < 4; k++) printf("%016lx ", out[k]);
    g = _mm256_permute2x128_si256(g, g, 1); memcpy(out, &g, 32); printf("%016lx\n", out[0]);
    asm volatile("vpcmpeqd %%ymm3, %%ymm3, %%ymm3; vzeroupper; vmovdqu %%ymm3, %0"
                 : "=m"(out)::"xmm3");
    SAME(out[1], -1); SAME(out[2], 0);
    FINISH();
}
