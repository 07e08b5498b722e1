// Code that clears the line behind itself by `clzero`, an instruction that names no memory: what it
// has just cleared is what runs next.
//@ needs: clzero
#include "guest.h"
typedef u64 (*over)(void *scratch);
static u8 scratch[64];
int main(void) {
    u8 *p = pages(1, 7);
    // lea rax, [rip + 6]; clzero; mov rax, rdi; and in the next line: mov eax, 7; ret
    static const u8 code[] = {0x48, 0x8d, 0x05, 6,    0, 0, 0, 0x0f, 0x01, 0xfc,
                              0x48, 0x89, 0xf8, 0xb8, 7, 0, 0, 0,    0xc3};
    u8 *entry = p + 64 - 13;
    // Cleared, the line is `add [rax], al`, 32 times. Behind it: xor eax, eax; ret
    memcpy(p + 128, "\x31\xc0\xc3", 3);
    for (int i = 0; i < 2000; i++) {
        memcpy(entry, code, sizeof code);
        SAME(((function)(p + 64))(), 7);
        SAME(((over)entry)(scratch), 0);
        SAME(p[64], 0);
    }
    FINISH();
}
