// A guard laid over generated code (MADV_GUARD_INSTALL): it faults from then on, and when the
// guard is gone, the page is empty.
#include "guest.h"
typedef int (*code)(void);
static u8 *p; static volatile int faults;
static void handler(int s, siginfo_t *i, void *c) {
    faults++; SAME(i->si_addr, p); SAME(GREG(c, REG_RIP), p);
    GREG(c, REG_RIP) = *(greg_t *)GREG(c, REG_RSP); GREG(c, REG_RSP) += 8; GREG(c, REG_RAX) = -7;
}
int main(void) {
    u8 text[] = {0xb8, 5, 0, 0, 0, 0xc3};
    p = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(p, text, sizeof text);
    on(SIGSEGV, handler, 0);
    for (int i = 0; i < 3; i++) SAME(((code)p)(), 5);
    if (madvise(p, 4096, 102)) return printf("no guards: %d\n", errno), 0;
    for (int i = 0; i < 3; i++) SAME(((code)p)(), -7);
    SAME(faults, 3); SAME(madvise(p, 4096, 103), 0); SAME(p[0], 0);
    memcpy(p, text, sizeof text); SAME(((code)p)(), 5);
    FINISH();
}
