// Code changed through /proc/self/mem, which ignores page protection, as debuggers and
// some hot patchers do it.
#include "guest.h"
int main(void) {
    u8 *p = pages(1, PROT_READ | PROT_EXEC), b[6]; int mem = open("/proc/self/mem", O_RDWR);
    for (u32 i = 0; i < 300; i++) {
        emit_return(b, i);
        SAME(pwrite(mem, b, 6, (off_t)p), 6);
        SAME(((function)p)(), i);
    }
    FINISH();
}
