// Descriptors on the stack, filled in as the program runs, announced before the sequence,
// right before it, or inside.
//@ variants: pie nopie static
//@ timeout: 60
#include "sequences.h"
static long counters[3], signals; static void on_signal(int s) { signals++; }
#define FILL                                                                                       \
    "leaq 1f(%%rip), %%rax\n movq %%rax, 8(%[cs])\n movq $(2f - 1f), 16(%[cs])\n leaq 4b(%%rip), " \
    "%%rax\n movq %%rax, 24(%[cs])\n movq $0, (%[cs])\n"
#define WORK                                                                                       \
    "xorl %%ecx, %%ecx\n 9: incq %%rcx\n cmpq $20000, %%rcx\n jb 9b\n movq %[counter], %%rax\n "   \
    "incq %%rax\n movq %%rax, %[counter]\n 2:\n"
#define HANDLER                                                                                    \
    ".pushsection .text.aborts, \"ax\"\n .byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n 4: jmp "      \
    "%l[aborted]\n .popsection\n"
#define BUILT(name, n, announce)                                                                   \
    static int __attribute__((noinline)) name(struct area *a) {                                    \
        struct descriptor cs;                                                                      \
        asm volatile goto(HANDLER FILL announce WORK                                               \
                          :                                                                        \
                          : [area] "r"(a), [cs] "r"(&cs), [counter] "m"(counters[n])               \
                          : "memory", "cc", "rax", "rcx"                                           \
                          : aborted);                                                              \
        a->cs = 0; /* before the stack is used again */                                            \
        return 0;                                                                                  \
    aborted:                                                                                       \
        return -1;                                                                                 \
    }
BUILT(before, 0, "movq %[cs], 8(%[area])\n nop\n nop\n 1:\n")
BUILT(adjacent, 1, "movq %[cs], 8(%[area])\n 1:\n")
BUILT(within, 2, "1: nop\n movq %[cs], 8(%[area])\n")
static int deeper(int (*f)(struct area *), struct area *a, int n) {
    volatile char room[100];
    room[n] = 1;
    return n ? deeper(f, a, n - 1) + room[n] - 1 : f(a);
}
int main(void) {
    int (*const kinds[])(struct area *) = {before, adjacent, within};
    struct area *a = area();
    if ((int)a->cpu_id < 0) {
        puts("ok");
        return 0;
    }
    signal(SIGALRM, on_signal);
    struct itimerval timer = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &timer, 0);
    for (int kind = 0; kind < 3; kind++) {
        long done = 0, aborted = 0;
        while (done < 1000 || aborted < 10) {
            int r = deeper(kinds[kind], a, (done + aborted) % 3);
            done += r == 0;
            aborted += r < 0;
        }
        SAME(counters[kind], done);
        if (getenv("SHOW"))
            printf("%d: %ld done, %ld aborted, %ld signals\n", kind, done, aborted, signals);
    }
    memset(&timer, 0, sizeof timer); setitimer(ITIMER_REAL, &timer, 0);
    FINISH();
}
