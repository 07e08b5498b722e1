// The resume flag in the frame of a fault: set by a fault of the processor, that of a branch to
// an address that is not canonical included; not by one that the kernel meets on the way back to
// the program, nor by a signal that is sent.
//@ variants: pie static
#include "guest.h"
#include <setjmp.h>

#define NOWHERE 0x8000000000000000ul
static sigjmp_buf back;
static int aimed;

static void handler(int signal, siginfo_t *info, void *context) {
    u64 flags = GREG(context, REG_EFL);
    printf("signal %d flags %llx trap %lld at %s\n", signal, (unsigned long long)flags & 0x10100,
           (long long)GREG(context, REG_TRAPNO),
           GREG(context, REG_RIP) == NOWHERE ? "nowhere" : "the branch");
    if (aimed) siglongjmp(back, 1);
    aimed = 1;
    GREG(context, REG_RIP) = NOWHERE;
}

#define TRY(what, ...)                                                         \
    do {                                                                       \
        printf("%s: ", what);                                                  \
        aimed = 1;                                                             \
        if (!sigsetjmp(back, 1)) asm volatile(__VA_ARGS__);                    \
    } while (0)

int main(void) {
    setvbuf(stdout, 0, _IOLBF, 0);
    on(SIGSEGV, handler, 0), on(SIGBUS, handler, 0), on(SIGUSR1, handler, 0),
        on(SIGILL, handler, 0), on(SIGFPE, handler, 0), on(SIGTRAP, handler, 0);
    for (int round = 0; round < 3; round++) {
        TRY("jump", "jmp *%0" ::"r"(NOWHERE));
        TRY("call", "call *%0" ::"r"(NOWHERE));
        TRY("return", "push %0; ret" ::"r"(NOWHERE));
        TRY("return and pop", "push %0; ret $16" ::"r"(NOWHERE));
        TRY("jump by memory", "sub $200, %%rsp; push %0; jmp *(%%rsp)" ::"r"(NOWHERE));
        TRY("canonical, unmapped", "jmp *%0" ::"r"(8ul));
        TRY("load", "mov (%0), %%rax" ::"r"(NOWHERE) : "rax");
        TRY("load, unmapped", "mov (%0), %%rax" ::"r"(8ul) : "rax");
        TRY("illegal", "ud2");
        TRY("divide", "xor %%ecx, %%ecx; xor %%edx, %%edx; mov $1, %%eax; div %%ecx" ::
                : "rax", "rcx", "rdx");
        TRY("halt", "hlt");
        TRY("trap", "int3");
        printf("sent: "), fflush(stdout);
        if (!sigsetjmp(back, 1)) raise(SIGUSR1);
        printf("return aimed at nowhere: ");
        aimed = 0;
        if (!sigsetjmp(back, 1)) raise(SIGUSR1);
    }
    FINISH();
}
