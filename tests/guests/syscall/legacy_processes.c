// int 0x80 in 64-bit code makes and ends processes, executes, maps and unmaps code, and
// blocks signals, as small programs in assembly do.
//@ variants: nopie static
#include "guest.h"

static inline __attribute__((always_inline)) long old(u32 nr, u64 b, u64 c, u64 d, u64 s) {
    long r;
    asm volatile("int $0x80"
                 : "=a"(r)
                 : "a"(nr), "b"(b), "c"(c), "d"(d), "S"(s), "D"(-1)
                 : "memory", "r8", "r9", "r10", "r11");
    return r;
}
static volatile int hits;
static void handler(int signal, siginfo_t *info, void *context) { hits++; }
static u32 words[3];
static char path[] = "/proc/self/exe", word[] = "word";

int main(int count, char **arguments) {
    int status;
    if (count == 2) printf("%s %s\n", arguments[0], arguments[1]), fflush(0), old(1, 9, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
        if (!old(2, 0, 0, 0, 0)) old(252, 3 + i, 0, 0, 0);
        wait(&status);
        SAME(status, (3 + i) << 8);
    }
    // vfork, execve: lists of 32-bit pointers.
    words[0] = words[1] = (u64)word;
    if (!old(190, 0, 0, 0, 0)) old(11, (u64)path, (u64)words, 0, 0), _exit(1);
    wait(&status);
    SAME(status, 9 << 8);
    SAME(old(11, 1, (u64)words, 0, 0), -EFAULT);

    // Code in memory from mmap2; rewritten under mprotect, unmapped.
    u8 *code = (u8 *)old(192, 0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS);
    CHECK((u64)code < 1ul << 32);
    emit_return(code, 5); KEEP(code);
    SAME(((function)code)(), 5);
    SAME(old(125, (u64)code, 4096, 3, 0), 0);
    emit_return(code, 6); KEEP(code);
    SAME(old(125, (u64)code, 4096, 5, 0), 0);
    SAME(((function)code)(), 6);
    u8 *again = (u8 *)old(192, (u64)code, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED);
    SAME(again, code);
    emit_return(code, 7); KEEP(code);
    SAME(((function)code)(), 7);
    SAME(old(91, (u64)code, 4096, 0, 0), 0);

    static u64 set = 1 << (SIGUSR1 - 1), before;
    on(SIGUSR1, handler, 0);
    SAME(old(175, SIG_BLOCK, (u64)&set, (u64)&before, 8), 0);
    raise(SIGUSR1);
    SAME(hits, 0);
    SAME(old(175, SIG_SETMASK, (u64)&before, 0, 8), 0);
    SAME(hits, 1);
    puts(failures ? "FAILED" : "ok"), fflush(0);
    old(1, failures, 0, 0, 0);
    return 0;
}
