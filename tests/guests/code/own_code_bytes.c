// A program that reads its own code: as memory, through /proc/self/mem and from the file.
//@ variants: pie static
#include "guest.h"
__attribute__((noinline)) int body(int a) {
    for (int i = 0; i < 10; i++) a = a * 3 + (a & i ? 1 : 2);
    return a;
}
__attribute__((noinline)) void after(void) { asm(""); }
extern char __executable_start;
int main(void) {
    u8 *from = (u8 *)body;
    u64 h = 0;
    int n = 40;
    u8 before[40], mem[40], file[40];
    memcpy(before, from, n);
    printf("%d\n", body(3));
    SAME(memcmp(before, from, n), 0);
    int fd = open("/proc/self/mem", O_RDONLY);
    pread(fd, mem, n, (off_t)from);
    SAME(memcmp(before, mem, n), 0);
    fd = open("/proc/self/exe", O_RDONLY);
    pread(fd, file, n, from - (u8 *)&__executable_start);
    SAME(memcmp(before, file, n), 0);
    FINISH();
}
