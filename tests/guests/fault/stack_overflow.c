// The stack runs into its guard: the handler, on its alternate stack, sees the fault at
// the stack pointer's page, in the main thread and in another.
//@ libs: -lpthread
//@ cflags: -O1 -fno-optimize-sibling-calls
#include "guest.h"
#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>
static __thread sigjmp_buf back;
static __attribute__((noinline)) long forever(long n) {
    volatile char block[500];
    block[1] = n;
    return forever(n + 1) + block[1];
}
static void handler(int s, siginfo_t *i, void *c) {
    stack_t now; sigaltstack(0, &now); SAME(now.ss_flags, SS_ONSTACK);
    long distance = (u64)i->si_addr - GREG(c, REG_RSP);
    CHECK(distance > -8192 && distance < 8192); siglongjmp(back, 1);
}
static void *overflow(void *arg) {
    static __thread char alt[65536];
    stack_t stack = {.ss_sp = alt, .ss_size = sizeof alt}; sigaltstack(&stack, 0);
    for (volatile int r = 0; r < 3; r++) if (!sigsetjmp(back, 1)) forever(0); else puts("caught");
    return 0;
}
int main(void) {
    struct rlimit small = {1 << 20, RLIM_INFINITY}; setrlimit(RLIMIT_STACK, &small);
    on(SIGSEGV, handler, SA_ONSTACK);
    overflow(0);
    pthread_t t; pthread_create(&t, 0, overflow, 0); pthread_join(t, 0);
    FINISH();
}
