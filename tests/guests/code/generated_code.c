// A just-in-time compiler's life: write code, make it executable, run, make it writable,
// change it, run again; the new code counts, each time.
//@ variants: pie static
#include "guest.h"
int main(void) {
    u8 *p = pages(4, PROT_READ | PROT_WRITE); u64 sum = 0;
    for (u32 i = 0; i < 500; i++) {
        mprotect(p, 16384, PROT_READ | PROT_WRITE);
        for (int k = 0; k < 4; k++) emit_return(p + k * 4096 + 8 * (i % 5), i * 4 + k);
        mprotect(p, 16384, PROT_READ | PROT_EXEC);
        for (int k = 0; k < 4; k++) sum += ((function)(p + k * 4096 + 8 * (i % 5)))();
    }
    SAME(sum, 2000L * 1999 / 2); FINISH();
}
