// SSE to SSE4.2 on known values: conversions, shuffles, compares, string compare, crc32,
// and xmm registers live over calls, indirect jumps and system calls.
//@ cflags: -O2 -msse4.2
#include "guest.h"
#include <immintrin.h>
#include <math.h>
static void show(const char *n, __m128i v) {
    u64 w[2];
    memcpy(w, &v, 16);
    printf("%s %016lx%016lx\n", n, w[1], w[0]);
}
int main(void) {
    __m128 f = _mm_set_ps(1.5f, -2.25f, 3e10f, 7);
    __m128i i = _mm_set_epi32(5, -6, 7, -8);
    show("add", _mm_castps_si128(_mm_add_ps(f, _mm_sqrt_ps(_mm_set1_ps(2)))));
    show("cvt", _mm_cvtps_epi32(f));
    show("mul", _mm_mullo_epi32(i, i));
    show("shuf", _mm_shuffle_epi8(i, _mm_set1_epi8(3)));
    show("min", _mm_min_epi16(i, _mm_set1_epi16(2)));
    show("pack", _mm_packs_epi32(i, i));
    show("blend", _mm_blend_epi16(i, _mm_setzero_si128(), 0x5a));
    show("dp", _mm_castps_si128(_mm_dp_ps(f, f, 0xf1)));
    show("round", _mm_castps_si128(_mm_round_ps(f, 1)));
    show("rcp", _mm_castps_si128(_mm_div_ps(_mm_set1_ps(1), f)));
    printf("%d %d\n",
           _mm_cmpistri(_mm_setr_epi8('x', 'z', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
                        _mm_loadu_si128((void *)"abcdefxghijklmno"), 0),
           _mm_movemask_ps(f));
    printf("%08x %016llx\n", _mm_crc32_u32(1, 0x12345678), _mm_crc32_u64(2, 0x123456789abcdef0));
    u64 sum = 0;
    for (int r = 0; r < 200; r++) {
        u64 a = r, b;
        asm volatile("movq %1, %%xmm0; movq %1, %%xmm7; movq %1, %%xmm15; mov $39, %%eax; syscall; "
                     "lea 1f(%%rip), %%rax; call 2f; jmp *%%rax\n 2: ret\n 1:"
                     "paddq %%xmm7, %%xmm0; paddq %%xmm15, %%xmm0; movq %%xmm0, %0"
                     : "=r"(b)
                     : "r"(a)
                     : "rax", "rcx", "r11", "xmm0", "xmm7", "xmm15", "memory");
        sum += b;
    }
    SAME(sum, 3 * 199 * 100);
    FINISH();
}
