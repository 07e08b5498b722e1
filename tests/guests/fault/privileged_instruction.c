// hlt, cli, in, out, control registers, rdmsr, int n: SIGSEGV from a general protection
// fault at the instruction, si_code SI_KERNEL and no address; int3, int1 and int 4 trap after it.
//@ variants: pie static
#include "guest.h"
static u8 *code;
static void handler(int s, siginfo_t *i, void *c) {
    printf("signal %d code %d trap %lld error %llx at %ld addr %ld\n", s, i->si_code,
           GREG(c, REG_TRAPNO), GREG(c, REG_ERR), (long)(GREG(c, REG_RIP) - (u64)code),
           i->si_addr ? (long)((u8 *)i->si_addr - code) : -1L);
    GREG(c, REG_RIP) = (u64)code + 64;
}
int main(void) {
    static const u8 bad[][4] = {{0xf4},
                                {0xfa},
                                {0xfb},
                                {0xec},
                                {0xee},
                                {0xe4, 1},
                                {0x0f, 0x20, 0xc0},
                                {0x0f, 0x22, 0xd8},
                                {0x0f, 0x32},
                                {0x0f, 0x30},
                                {0x0f, 0x06},
                                {0xcd, 0x21},
                                {0xcd, 0x03},
                                {0x0f, 0x09},
                                {0x0f, 0x01, 0x10},
                                {0xcc},
                                {0xf1},
                                {0x0f, 0x23, 0xc0},
                                {0x6c},
                                {0xf3, 0x6e},
                                {0xcd, 0x04}};
    code = pages(1, 7);
    on(SIGSEGV, handler, 0); on(SIGTRAP, handler, 0); on(SIGILL, handler, 0);
    for (int r = 0; r < 2; r++)
        for (unsigned n = 0; n < sizeof bad / 4; n++) {
            memset(code, 0x90, 64);
            memcpy(code + 5, bad[n], 4);
            for (int k = 5; k < 9; k++)
                if (k > 5 && !code[k] && n != 14) code[k] = 0x90;
            emit_return(code + 64, n);
            printf("%u: ", n); fflush(stdout);
            SAME(((function)code)(), n);
        }
    FINISH();
}
