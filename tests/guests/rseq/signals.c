// Signals abort sequences: their handlers see the abort handler's address, never one
// inside, and the count stays exact. Handlers run sequences of their own.
//@ variants: pie nopie static musl
//@ timeout: 60
#include "sequences.h"
static long counter, by_handler, signals, inside; static u64 first, last;
static void on_signal(int s, siginfo_t *i, void *context) {
    u64 pc = GREG(context, REG_RIP); long kept[2]; struct area *a = area(); signals++;
    inside += pc >= first && pc < last;
    while (slow_add(a, &by_handler, a->cpu_id_start, 3, kept)) {}
}
static int marked(struct area *a, long *kept) {
    asm volatile("leaq 7f(%%rip), %0\n leaq 8f(%%rip), %1" : "=r"(first), "=r"(last));
    asm volatile goto("xorl %%ecx, %%ecx\n xorl %%edx, %%edx\n" SEQUENCE_KEEPING "7: incq %%rcx\n "
                                                                                 "leaq (%%rcx, "
                                                                                 "%%rcx), %%rdx\n "
                                                                                 "cmpq $30000, "
                                                                                 "%%rcx\n jb 7b\n"
                      "movq %[counter], %%rax\n addq $1, %%rax\n movq %%rax, %[counter]\n" COMMITTED
                      "8:\n"
                      :
                      : [area] "r"(a), [counter] "m"(counter), [kept] "r"(kept)
                      : "memory", "cc", "rax", "rcx", "rdx"
                      : aborted);
    return 0;
aborted:
    return -1;
}
int main(void) {
    struct area *a = area();
    long kept[2], aborted = 0, done = 0;
    if ((int)a->cpu_id < 0) {
        puts("ok");
        return 0;
    }
    struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGALRM, &act, 0);
    struct itimerval timer = {{0, 300}, {0, 300}}; setitimer(ITIMER_REAL, &timer, 0);
    while (done < 3000 || aborted < 20) {
        if (marked(a, kept) == 0) { done++; continue; }
        aborted++; CHECK(kept[1] == 2 * kept[0] || kept[1] == 2 * kept[0] - 2);
    }
    memset(&timer, 0, sizeof timer); setitimer(ITIMER_REAL, &timer, 0);
    SAME(counter, done); SAME(inside, 0); SAME(by_handler, signals);
    if (getenv("SHOW")) printf("%ld done, %ld aborted, %ld signals\n", done, aborted, signals);
    FINISH();
}
