// An instruction that begins on a page and ends on the next, which is not there until a
// fault handler maps it; the fault's address is the missing page's.
#include "guest.h"
static u8 *p;
static int faults;
static void handler(int s, siginfo_t *i, void *c) {
    faults++;
    SAME(i->si_addr, p + 4096);
    SAME(GREG(c, REG_RIP), p + 4094);
    mprotect(p + 4096, 4096, 7);
}
int main(void) {
    on(SIGSEGV, handler, 0);
    for (u32 r = 0; r < 20; r++) {
        p = pages(2, 7);
        p[4092] = 0x90;
        p[4093] = 0x90;
        emit_return(p + 4094, r + 0x01020304);
        mprotect(p + 4096, 4096, PROT_NONE);
        SAME(((function)(p + 4092))(), r + 0x01020304);
        SAME(((function)(p + 4094))(), r + 0x01020304);
        munmap(p, 8192);
    }
    SAME(faults, 20); FINISH();
}
