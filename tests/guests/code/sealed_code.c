// Code in memory that is sealed (mseal(2)), before and after it has run: it can be written to
// as ever, and its protection not be changed by anybody.
#include "guest.h"
typedef int (*code)(void);
enum { MSEAL = 462 };
static int put(u8 *at, int value) {
    u8 text[] = {0xb8, value, 0, 0, 0, 0xc3};
    memcpy(at, text, sizeof text);
    return ((code)at)();
}
int main(void) {
    u8 *run = pages(2, PROT_READ | PROT_WRITE | PROT_EXEC),
       *fresh = pages(2, PROT_READ | PROT_WRITE | PROT_EXEC);
    SAME(put(run, 1), 1);
    if (syscall(MSEAL, run, 8192, 0)) return printf("no mseal: %d\n", errno), 0;
    SAME(syscall(MSEAL, fresh, 8192, 0), 0);
    for (int i = 0; i < 200; i++) SAME(put(run, i & 127), i & 127);
    for (int i = 0; i < 200; i++) SAME(put(fresh + (i & 1) * 4096 + 64, i & 127), i & 127);
    SAME(mprotect(run, 4096, PROT_READ), -1); SAME(errno, EPERM); SAME(put(run, 3), 3);
    SAME(munmap(run, 8192), -1); SAME(errno, EPERM); SAME(put(run, 4), 4);
    SAME((long)mmap(run, 4096, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), -1);
    SAME(errno, EPERM);
    SAME(put(run, 5), 5);
    u8 *w = pages(1, PROT_READ | PROT_WRITE);
    memcpy(w, run, 16);
    mprotect(w, 4096, PROT_READ | PROT_EXEC);
    SAME(syscall(MSEAL, w, 4096, 0), 0);
    SAME(((code)w)(), 5);
    if (!fork()) { SAME(put(run, 6), 6); _exit(failures); }
    int st; wait(&st); SAME(st, 0); SAME(((code)run)(), 5);
    FINISH();
}
