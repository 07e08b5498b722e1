// A fault inside a sequence aborts it: the handler's frame shows the abort handler. What
// the kernel does not accept as a descriptor ends the process.
//@ variants: pie static musl
#include "sequences.h"
#include <setjmp.h>
#include <sys/prctl.h>
static sigjmp_buf back; static u64 at, address, expected, instruction; static int number;
static void on_fault(int s, siginfo_t *i, void *context) {
    number = s;
    at = GREG(context, REG_RIP);
    address = (u64)i->si_addr;
    siglongjmp(back, 1);
}
static void run(int kind) {
    struct area *a = area(); static long cell;
    asm volatile("leaq 5f(%%rip), %0\n leaq 6f(%%rip), %1\n testl %%ecx, %%ecx\n cmovnz 7f(%%rip), "
                 "%1"
                 : "=&r"(expected), "=&r"(instruction)
                 : "c"(kind));
    asm volatile goto(".pushsection __rseq_cs, \"aw\"\n .balign 32\n 3: .long 0, 0\n .quad 1f, 2f "
                      "- 1f, 5f\n 7: .quad 8f\n .popsection\n"
                      ".pushsection __rseq_failure, \"ax\"\n .byte 0x0f, 0xb9, 0x3d\n .long "
                      "0x53053053\n 5: jmp %l[aborted]\n .popsection\n"
                      "leaq 3b(%%rip), %%rax\n movq %%rax, 8(%[area])\n 1: nop\n testl %%ecx, "
                      "%%ecx\n jnz 8f\n"
                      "6: movq 16, %%rax\n jmp 9f\n 8: divl %[zero]\n 9: movq %%rax, %[cell]\n 2:\n"
                      :
                      : [area] "r"(a), "c"(kind), [zero] "r"(0), [cell] "m"(cell)
                      : "memory", "cc", "rax", "rdx"
                      : aborted);
aborted:
    return;
}
static void bad(int kind) {
    static struct descriptor cs;
    struct area *a = area();
    cs.start = (u64)bad;
    cs.length = 1;
    cs.abort = (u64)bad + 64;
    if (kind == 1) cs.version = 7; if (kind == 2) cs.abort = cs.start; if (kind == 3) cs.flags = 1;
    a->cs = kind == 4 ? 64 : kind == 5 ? ~0ull : (u64)&cs;
    for (int i = 0; i < 100; i++) { sched_yield(); kill(getpid(), SIGURG); usleep(10); }
}
int main(void) {
    if ((int)area()->cpu_id < 0) { puts("ok"); return 0; }
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &act, 0);
    sigaction(SIGFPE, &act, 0);
    for (int round = 0; round < 3; round++) {
        if (!sigsetjmp(back, 0)) run(0);
        SAME(number, SIGSEGV); SAME(at, expected); SAME(address, 16);
        if (!sigsetjmp(back, 0)) run(1);
        SAME(number, SIGFPE); SAME(at, expected); SAME(address, instruction);
    }
    signal(SIGSEGV, SIG_DFL); prctl(PR_SET_DUMPABLE, 0);
    for (int kind = 0; kind < 6; kind++) {
        fflush(stdout); if (fork() == 0) { bad(kind); _exit(0); }
        int status;
        wait(&status);
        printf("%d: %s\n", kind, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "goes on");
    }
    FINISH();
}
