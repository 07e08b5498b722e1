// Under personality READ_IMPLIES_EXEC (GCL sets it) the kernel makes executable what is
// mapped readable: the program's memory, but not kept code that has not been admitted.
#include "guest.h"
#include <fcntl.h>
#include <setjmp.h>
#include <sys/personality.h>
static sigjmp_buf out;
static void fault(int s) { siglongjmp(out, s); }
static int run(unsigned char *at, int value) {
    at[0] = 0xb8; memcpy(at + 1, &value, 4); at[5] = 0xc3;
    int s = sigsetjmp(out, 1); return s ? -s : ((int (*)(void))at)();
}
static unsigned char *page(void) {
    return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
// Long enough for several groups of kept code, with branches from each to the next.
__asm__(".text\n.p2align 12\nchain: mov %rdi, %rax\n.rept 3000\n inc %rax\n call 3f\n jmp 4f\n3: "
        "ret\n4:\n.endr\n ret\n.p2align 12\nchain_end:");
extern char chain[], chain_end[], __executable_start[];
static void map_chain_and_call(void) {
    int f = open("/proc/self/exe", O_RDONLY); long n = chain_end - chain;
    char *p = mmap(0, n, PROT_READ | PROT_EXEC, MAP_PRIVATE, f, chain - __executable_start);
    close(f); CHECK(memcmp(p, chain, n) == 0); SAME(((long (*)(long))p)(5), 3005);
}
int main(void) {
    signal(SIGSEGV, fault); SAME(run(page(), 1), -SIGSEGV);
    int old = personality(0xffffffff);
    CHECK(old >= 0);
    SAME(personality(old | READ_IMPLIES_EXEC), old);
    map_chain_and_call();
    unsigned char *p = page(); SAME(run(p, 2), 2); SAME(run(p, 3), 3);
    CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0); SAME(run(p, 4), 4);
    SAME(personality(old), old | READ_IMPLIES_EXEC); SAME(run(p, 5), 5);
    CHECK(mprotect(p, 4096, PROT_READ | PROT_WRITE) == 0);
    SAME(run(p, 6), -SIGSEGV);
    SAME(run(page(), 7), -SIGSEGV);
    FINISH();
}
