// Other code at the same address: munmap and mmap, MAP_FIXED over, mremap in and out,
// MADV_DONTNEED (a zero page then), files and anonymous memory by turns.
#include "guest.h"
#include <setjmp.h>
static sigjmp_buf back; static void handler(int s, siginfo_t *i, void *c) { siglongjmp(back, s); }
static int code_file(u32 v) {
    char name[20];
    sprintf(name, "code%u", v);
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0700);
    u8 b[4096] = {0};
    emit_return(b, v);
    write(fd, b, 4096);
    return fd;
}
int main(void) {
    on(SIGSEGV, handler, 0); u8 *p = pages(1, 7), *q;
    for (u32 i = 1; i < 200; i++) {
        if (i % 2) {
            munmap(p, 4096);
            SAME(mmap(p, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), p);
        } else mmap(p, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        emit_return(p, i); SAME(((function)p)(), i);
        q = pages(1, 7);
        emit_return(q, i + 5);
        SAME(((function)q)(), i + 5);
        SAME(mremap(q, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, p), p);
        SAME(((function)p)(), i + 5);
        int s = sigsetjmp(back, 1); if (!s) { ((function)q)(); failures++; } else SAME(s, SIGSEGV);
        madvise(p, 4096, MADV_DONTNEED);
        s = sigsetjmp(back, 1);
        if (!s) {
            asm volatile("xor %%eax, %%eax; call *%0" ::"r"(p) : "rax", "memory");
            failures++;
        } else SAME(s, SIGSEGV);
        if (i % 10 == 0) {
            int a = code_file(i), b = code_file(i + 1);
            q = mmap(0, 4096, 5, MAP_PRIVATE, a, 0);
            SAME(((function)q)(), i);
            SAME(mmap(q, 4096, 5, MAP_PRIVATE | MAP_FIXED, b, 0), q);
            SAME(((function)q)(), i + 1);
            munmap(q, 4096);
            close(a);
            close(b);
        }
        if (i % 7 == 0) {
            mprotect(p, 4096, PROT_READ | PROT_WRITE);
            emit_return(p, i);
            s = sigsetjmp(back, 1);
            if (!s) {
                ((function)p)();
                failures++;
            } else SAME(s, SIGSEGV);
            mprotect(p, 4096, 7);
            SAME(((function)p)(), i);
        }
    }
    FINISH();
}
