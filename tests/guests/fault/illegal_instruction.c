// ud2, bytes that no decoder knows, a lock prefix where none may be, a too long instruction,
// and a transaction where the CPU has none: its own fault at the instruction's own address,
// each time.
//@ variants: pie static
#include "guest.h"
static u8 *code; static volatile int step;
static void handler(int s, siginfo_t *i, void *c) {
    printf("signal %d code %d at %ld addr %ld\n", s, i->si_code,
           (long)(GREG(c, REG_RIP) - (u64)code),
           i->si_code == SI_KERNEL ? -1L : (long)((u8 *)i->si_addr - code));
    GREG(c, REG_RIP) = (u64)code + 64;
}
int main(void) {
    static const u8 bad[][16] = {{0x0f, 0x0b},
                                 {0x0f, 0xff, 0xc0},
                                 {0x06},
                                 {0xf0, 0x90},
                                 {0x62, 0xff, 0xff, 0xff, 0xff, 0xff},
                                 {0xc5, 0xff, 0xff, 0xff},
                                 {0x0f, 0xb9, 0xc0},
                                 {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                  0x66, 0x66, 0x66, 0x66, 0x90},
                                 {0x27},
                                 {0x9a, 1, 2, 3, 4},
                                 {0xd6},
                                 {0xf0, 0x89, 0xc0},
                                 {0xc7, 0xf8, 0x37, 0, 0, 0, 0x0f, 0x0b}};
    code = pages(1, 7);
    on(SIGILL, handler, 0); on(SIGSEGV, handler, 0);
    for (int r = 0; r < 2; r++)
        for (unsigned n = 0; n < sizeof bad / 16; n++) {
            memset(code, 0x90, 4096); memcpy(code + 3, bad[n], 16); emit_return(code + 64, n);
            printf("%u: ", n); fflush(stdout);
            SAME(((function)code)(), n);
        }
    FINISH();
}
