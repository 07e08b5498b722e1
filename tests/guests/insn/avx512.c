// AVX-512: zmm0-31 and k0-7 live over calls, indirect jumps, system calls and signals,
// masked moves, masked-off elements on unmapped memory that must not fault.
//@ cflags: -O2 -mavx512f -mavx512bw -mavx512vl
//@ needs: avx512f avx512bw avx512vl
#include "guest.h"
#include <immintrin.h>
static volatile int hits;
static void handler(int s, siginfo_t *i, void *c) {
    hits++;
    asm volatile("vpternlogd $255, %%zmm5, %%zmm5, %%zmm5; vpternlogd $255, %%zmm29, %%zmm29, "
                 "%%zmm29; kxorq %%k1, %%k1, %%k1" ::
                     : "xmm5", "k1");
}
int main(void) {
    on(SIGUSR1, handler, 0);
    u64 out[8], mask;
    for (int r = 0; r < 200; r++) {
        u64 in[8]; for (int k = 0; k < 8; k++) in[k] = r * 8 + k;
        asm volatile("vmovdqu64 %2, %%zmm5; vmovdqa64 %%zmm5, %%zmm29; mov $0x123456789, %%rax; "
                     "kmovq %%rax, %%k1\n"
                     "mov $39, %%eax; syscall; mov %%eax, %%edi; mov $10, %%esi; mov $62, %%eax; "
                     "syscall; lea 1f(%%rip), %%rax; call 2f; jmp *%%rax\n 2: ret\n 1:"
                     "vpaddq %%zmm29, %%zmm5, %%zmm5; vmovdqu64 %%zmm5, %0; kmovq %%k1, %1"
                     : "=m"(out), "=r"(mask)
                     : "m"(in)
                     : "rax", "rcx", "r11", "rdi", "rsi", "memory");
        for (int k = 0; k < 8; k++) SAME(out[k], 2 * (r * 8 + k));
        SAME(mask, 0x123456789);
    }
    SAME(hits, 200);
    u8 *p = pages(2, PROT_READ | PROT_WRITE);
    mprotect(p + 4096, 4096, PROT_NONE);
    __m512i v = _mm512_maskz_loadu_epi32(0x00ff, p + 4096 - 32);
    _mm512_mask_storeu_epi32(p + 4096 - 32, 0x00ff, _mm512_add_epi32(v, _mm512_set1_epi32(3)));
    SAME(p[4092], 3);
    FINISH();
}
