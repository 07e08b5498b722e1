// Pages that gain execute permission in odd ways: write then exec-only, PROT_EXEC without
// read, mprotect of parts of a page range, a mapping at a low address.
#include "guest.h"
int main(void) {
    u8 *p = pages(3, PROT_READ | PROT_WRITE);
    for (int k = 0; k < 3; k++) emit_return(p + k * 4096, k + 1);
    mprotect(p, 12288, PROT_EXEC);
    for (int r = 0; r < 20; r++)
        for (int k = 0; k < 3; k++) SAME(((function)(p + k * 4096))(), k + 1);
    mprotect(p + 4096, 4096, PROT_READ | PROT_WRITE);
    emit_return(p + 4096, 50);
    mprotect(p + 4096, 4096, PROT_EXEC | PROT_READ);
    SAME(((function)(p + 4096))(), 50);
    SAME(((function)p)(), 1);
    u8 *low =
        mmap((void *)0x20000, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (low != MAP_FAILED) {
        emit_return(low, 9);
        SAME(((function)low)(), 9);
    }
    u8 *sub = mmap((void *)0x40000000, 1 << 20, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    CHECK((u64)sub < 1L << 32);
    emit_return(sub + 77, 10);
    SAME(((function)(sub + 77))(), 10);
    FINISH();
}
