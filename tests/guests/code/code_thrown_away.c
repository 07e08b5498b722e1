// Generated code that is thrown away with madvise, written anew and run again.
//@ variants: pie static
#include "guest.h"

static void emit(u8 *at, u32 value) {
    // mov $value, %eax; ret
    at[0] = 0xb8, at[5] = 0xc3;
    memcpy(at + 1, &value, 4);
}

int main(void) {
    u8 *code =
        mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (u32 n = 0; n < 50; n++) {
        emit(code, n);
        emit(code + 4096, n + 1000);
        SAME(((u32(*)(void))code)(), n);
        SAME(((u32(*)(void))(code + 4096))(), n + 1000);
        SAME(madvise(code, n % 2 ? 4096 : 8192, n % 3 ? MADV_DONTNEED : MADV_FREE), 0);
        if (n % 3)
            SAME(code[0], 0);
    }
    FINISH();
}
