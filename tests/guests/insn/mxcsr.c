// MXCSR rounding mode and flags are the program's over calls, system calls, signals and
// first executions of new code (which enter the translator).
//@ variants: pie static
#include "guest.h"
static volatile int hits;
static void handler(int s, siginfo_t *i, void *c) {
    u32 now;
    asm volatile("stmxcsr %0" : "=m"(now));
    SAME(now & ~0x3f, 0x1f80);
    hits++;
}
#define FRESH(n)                                                                                   \
    __attribute__((noinline)) static double f##n(double a) {                                       \
        asm volatile("nop; nop");                                                                  \
        return a / (3 + n);                                                                        \
    }
FRESH(0) FRESH(1) FRESH(2) FRESH(3)
int main(void) {
    on(SIGUSR1, handler, 0);
    double (*volatile fs[])(double) = {f0, f1, f2, f3};
    for (u32 mode = 0; mode < 4; mode++) {
        u32 set = 0x1f80 | mode << 13, got, back = 0x1f80;
        asm volatile("ldmxcsr %0" ::"m"(set));
        double v = fs[mode](1.0);
        syscall(SYS_getppid); kill(getpid(), SIGUSR1);
        v += fs[mode](2.0);
        asm volatile("stmxcsr %0; ldmxcsr %1" : "=m"(got) : "m"(back));
        u64 bits; memcpy(&bits, &v, 8);
        printf("%u %x %016lx\n", mode, got, bits);
    }
    SAME(hits, 4);
    FINISH();
}
