// PROT_NONE pages as barriers, as garbage collectors use them: thousands of faults on
// loads and stores of many shapes, each opened and closed again.
#include "guest.h"
static u8 *p;
static int faults;
static void handler(int s, siginfo_t *i, void *c) {
    faults++;
    mprotect((void *)((u64)i->si_addr & -4096), 4096, PROT_READ | PROT_WRITE);
}
int main(void) {
    on(SIGSEGV, handler, SA_RESTART); p = pages(64, PROT_READ | PROT_WRITE); u64 sum = 0;
    for (int r = 0; r < 60; r++) {
        mprotect(p, 64 * 4096, PROT_NONE);
        for (int k = 0; k < 64; k++) {
            u8 *a = p + k * 4096 + 8;
            switch (k % 6) {
            case 0:
                sum += *(u64 *)a;
                break;
            case 1:
                *(u64 *)a += k;
                break;
            case 2:
                memset(a, k, 64);
                break;
            case 3:
                asm volatile(
                    "movdqu (%0), %%xmm1; paddq %%xmm1, %%xmm1; movdqu %%xmm1, (%0)" ::"r"(a)
                    : "xmm1", "memory");
                break;
            case 4:
                asm volatile("push (%0); pop 8(%0)" ::"r"(a) : "memory");
                break;
            default:
                sum += memchr(a, 77, 100) != 0;
            }
        }
    }
    SAME(faults, 60 * 64); printf("%lu\n", sum); FINISH();
}
