// A frame that does not fit on the alternate stack is not written at all: SIGSEGV instead,
// and nothing below the stack is touched. Frames show the flags that the stack was set with.
#include "guest.h"
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif
static volatile int depth;
static u8 *memory;
static void nested(int s, siginfo_t *i, void *c) {
    printf("depth %d: set with %x\n", depth, ((ucontext_t *)c)->uc_stack.ss_flags);
    fflush(stdout);
    if (++depth < 40) raise(s);
}
static void segv(int s) {
    CHECK(memory[(1 << 19) - 1] == 0);
    puts("no room");
    fflush(stdout);
    _exit(failures + 3);
}
static void run(size_t size, unsigned flags, int handled) {
    fflush(stdout);
    if (!fork()) {
        memory = pages(256, PROT_READ | PROT_WRITE);
        stack_t set = {.ss_sp = memory + (1 << 19), .ss_size = size, .ss_flags = flags};
        SAME(sigaltstack(&set, 0), 0);
        on(SIGUSR1, nested, SA_ONSTACK | SA_NODEFER);
        if (handled) signal(SIGSEGV, segv);
        raise(SIGUSR1);
        _exit(0);
    }
    int status;
    wait(&status);
    printf("%zu bytes, flags %x: status %x\n", size, flags, status);
}
int main(void) {
    run(2048, 0, 0);
    run(2048, 0, 1);
    run(2048, SS_AUTODISARM, 1);
    run(1 << 15, 0, 0);
    run(1 << 15, SS_ONSTACK, 1);
    FINISH();
}
