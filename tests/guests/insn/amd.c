// What only AMD's processors have: SSE4a's bit fields and scalar streaming stores, and a
// store of a whole line through rax alone.
//@ needs: sse4a clzero
#include "guest.h"
static u8 line[192] __attribute__((aligned(64)));
static void show(const char *what, const u64 v[2]) { printf("%s %016lx\n", what, v[0]); }
static volatile void *faulted;
static void handler(int s, siginfo_t *i, void *c) {
    faulted = i->si_addr;
    GREG(c, REG_RAX) = (greg_t)line;
}
int main(void) {
    u64 a[2] = {0x0123456789abcdef, 2}, b[2] = {0xfedcba9876543210, 16 | 20 << 8}, r[2];
    asm volatile("movdqu %1, %%xmm9; extrq $4, $12, %%xmm9; movdqu %%xmm9, %0"
                 : "=m"(r)
                 : "m"(a)
                 : "xmm9");
    show("extrq", r);
    u64 field[2] = {12 | 8 << 8, 0};
    asm volatile("movdqu %1, %%xmm9; movdqu %2, %%xmm3; extrq %%xmm3, %%xmm9; movdqu %%xmm9, %0"
                 : "=m"(r)
                 : "m"(a), "m"(field)
                 : "xmm9", "xmm3");
    show("extrq", r);
    asm volatile("movdqu %1, %%xmm1; movdqu %2, %%xmm8; insertq $8, $16, %%xmm8, %%xmm1; movdqu "
                 "%%xmm1, %0"
                 : "=m"(r)
                 : "m"(a), "m"(b)
                 : "xmm1", "xmm8");
    show("insertq", r);
    u64 both[2] = {0xfedcba9876543210, 16 | 20 << 8};
    asm volatile("movdqu %1, %%xmm1; movdqu %2, %%xmm8; insertq %%xmm8, %%xmm1; movdqu %%xmm1, %0"
                 : "=m"(r)
                 : "m"(a), "m"(both)
                 : "xmm1", "xmm8");
    show("insertq", r);
    u64 stored[2] = {-1, -1};
    asm volatile("movdqu %1, %%xmm10; movntss %%xmm10, %0; sfence"
                 : "+m"(stored[0])
                 : "m"(a)
                 : "xmm10");
    show("movntss", stored);
    asm volatile("movdqu %1, %%xmm10; movntsd %%xmm10, %0; sfence"
                 : "+m"(stored[0])
                 : "m"(a)
                 : "xmm10");
    show("movntsd", stored);
    memset(line, 7, sizeof line);
    asm volatile("lea 77(%0), %%rax; clzero; sfence" ::"r"(line) : "rax", "memory");
    int sum = 0;
    for (int i = 0; i < 192; i++) sum += line[i];
    printf("sum %d: %d %d %d\n", sum, line[63], line[64], line[128]);
    asm volatile("mov %0, %%rax; addr32 clzero; sfence" ::"r"(
                     (u64)mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0) | 0)
                 : "rax", "memory");
    on(SIGSEGV, handler, 0); u8 *guard = pages(1, PROT_READ);
    asm volatile("lea 100(%0), %%rax; clzero; sfence" ::"r"(guard) : "rax", "memory");
    printf("fault at %ld, line %d\n", (long)((u8 *)faulted - guard), line[0]);
    asm volatile("prefetchw %0; prefetch %0" ::"m"(line));
    FINISH();
}
