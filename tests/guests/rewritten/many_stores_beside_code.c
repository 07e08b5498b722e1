// Thousands of functions written one by one into pages whose earlier functions have run
// already, then a second pass: a write barrier that takes each store as a fault of its own
// makes this a hundred times slower.
//@ timeout: 20
#include "guest.h"
int main(void) {
    u8 *p = pages(256, 7); u64 sum = 0;
    for (int round = 0; round < 4; round++)
        for (u32 i = 0; i < 256 * 64; i++) {
            emit_return(p + i * 64, i + round);
            if (i % 64 == 5) sum += ((function)(p + i * 64))();
        }
    for (u32 i = 0; i < 256 * 64; i++) sum += ((function)(p + i * 64))();
    printf("%lu\n", sum); FINISH();
}
