// A masked-off vector element on an unmapped page is not touched, a masked-on one
// faults with the address of the access (AVX maskmov; gather stops at the element).
//@ cflags: -O1 -mavx2
//@ needs: avx2
#include "guest.h"
#include <immintrin.h>
#include <setjmp.h>
static sigjmp_buf out; static u8 *edge;
static void handler(int s, siginfo_t *i, void *c) {
    printf("fault at %ld\n", (long)((u8 *)i->si_addr - edge));
    siglongjmp(out, 1);
}
int main(void) {
    u8 *p = pages(2, PROT_READ | PROT_WRITE);
    edge = p + 4096;
    mprotect(edge, 4096, PROT_NONE);
    on(SIGSEGV, handler, 0);
    __m256i half = _mm256_setr_epi32(-1, -1, -1, -1, 0, 0, 0, 0), all = _mm256_set1_epi32(-1);
    if (!sigsetjmp(out, 1)) {
        _mm256_maskstore_epi32((int *)(edge - 16), half, all);
        SAME(edge[-1], 255);
        puts("half stored");
    }
    if (!sigsetjmp(out, 1)) {
        _mm256_maskstore_epi32((int *)(edge - 16), all, all);
        puts("not reached");
    }
    if (!sigsetjmp(out, 1)) {
        __m256i g =
            _mm256_i32gather_epi32((int *)edge, _mm256_setr_epi32(-4, -3, -2, -1, 0, 1, 2, 3), 4);
        KEEP(*(long *)&g);
        puts("not reached");
    }
    if (!sigsetjmp(out, 1)) {
        u64 c = 64;
        u8 *d = edge - 32;
        asm volatile("rep stosb" : "+c"(c), "+D"(d) : "a"(7) : "memory");
        puts("not reached");
    }
    SAME(edge[-1], 7);
    FINISH();
}
