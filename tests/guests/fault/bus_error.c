// SIGBUS: a file mapping beyond the file's end, for data and for code, and an unaligned
// access with the AC flag set.
//@ variants: pie
#include "guest.h"
#include <setjmp.h>
static sigjmp_buf back; static u8 *map;
static void handler(int s, siginfo_t *i, void *c) {
    asm volatile("pushfq; andq $~0x40000, (%%rsp); popfq" ::: "cc", "memory");
    printf("signal %d code %d addr %ld\n", s, i->si_code,
           i->si_code == BUS_ADRALN ? -1L : (long)((u8 *)i->si_addr - map));
    siglongjmp(back, 1);
}
int main(void) {
    on(SIGBUS, handler, 0);
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    ftruncate(fd, 100);
    map = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) map = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int r = 0; r < 2; r++) {
        if (!sigsetjmp(back, 1)) { SAME(map[50], 0); KEEP(map); printf("%d\n", map[4096]); }
        if (!sigsetjmp(back, 1)) { map[5000] = 1; puts("stored"); }
        if (!sigsetjmp(back, 1)) { ((void (*)(void))(map + 4096 + 16))(); puts("called"); }
        u64 words[2];
        if (!sigsetjmp(back, 1)) {
            asm volatile("pushfq; orq $0x40000, (%%rsp); popfq; mov 1(%0), %%eax" ::"r"(words)
                         : "rax", "cc", "memory");
            puts("loaded");
        }
        asm volatile("pushfq; andq $~0x40000, (%%rsp); popfq" ::: "cc", "memory");
    }
    unlink("file");
    FINISH();
}
