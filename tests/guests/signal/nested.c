// Signals in handlers: a fault in a handler, another signal let through, a blocked one
// held until return, and the same again from below.
#include "guest.h"
static int depth;
static void fault(int s, siginfo_t *i, void *c) {
    printf("%d segv\n", ++depth);
    depth--;
    GREG(c, REG_RIP) += 2;
}
static void inner(int s, siginfo_t *i, void *c) {
    printf("%d usr2\n", ++depth);
    asm volatile("mov %%eax, (%%rcx)" ::"c"(8) : "memory");
    depth--;
}
static void outer(int s, siginfo_t *i, void *c) {
    printf("%d usr1\n", ++depth);
    raise(SIGUSR2);
    asm volatile("mov (%%rcx), %%eax" ::"c"(8) : "rax");
    static int again;
    if (!again++) raise(SIGUSR1);
    puts("usr1 still blocked"); raise(SIGHUP); puts("hup was blocked too"); depth--;
}
static int times;
static void hup(int s, siginfo_t *i, void *c) {
    printf("%d hup\n", ++depth);
    if (times++ < 2) raise(SIGUSR1);
    depth--;
}
int main(void) {
    struct sigaction a = {.sa_sigaction = outer, .sa_flags = SA_SIGINFO};
    sigaddset(&a.sa_mask, SIGHUP);
    sigaction(SIGUSR1, &a, 0);
    on(SIGUSR2, inner, 0); on(SIGSEGV, fault, 0); on(SIGHUP, hup, 0);
    setvbuf(stdout, 0, _IONBF, 0);
    struct sigaction once = {.sa_handler = SIG_DFL};
    kill(getpid(), SIGHUP);
    FINISH();
}
