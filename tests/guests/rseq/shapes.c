// Sequences with loops, early exits and short branches; entered in the middle; run by a
// thread that is not registered, in a forked child, and with a signature of its own.
//@ variants: pie nopie static
//@ timeout: 60
#include "sequences.h"
static long cell[4];
static long search(struct area *a, const long *list, long n, long wanted) {
    long found;
    asm volatile goto("movq %[n], %%rcx\n movq $-1, %%rdx\n" SEQUENCE "jrcxz 6f\n 5: incq %%rdx\n "
                                                                      "cmpq (%[list], %%rdx, 8), "
                                                                      "%[wanted]\n je 8f\n loop "
                                                                      "5b\n 6: movq $-1, %%rdx\n "
                                                                      "movq %%rdx, "
                                                                      "%[cell]\n" COMMITTED "jmp "
                                                                                            "7f\n "
                                                                                            "8: "
                                                                                            "movq "
                                                                                            "%%rdx,"
                                                                                            " (%["
                                                                                            "out])"
                                                                                            "\n "
                                                                                            "jmp "
                                                                                            "%l["
                                                                                            "found]"
                                                                                            "\n "
                                                                                            "7:\n"
                      :
                      : [area] "r"(a), [list] "r"(list), [n] "r"(n), [wanted] "r"(wanted),
                        [cell] "m"(cell[0]), [out] "r"(&found)
                      : "memory", "cc", "rax", "rcx", "rdx"
                      : aborted, found);
    return -1;
found:
    return found;
aborted:
    return -2;
}
static int signed_otherwise(struct area *a) {
    asm volatile goto(SEQUENCE_SIGNED(0x1234abcd)
        "xorl %%ecx, %%ecx\n 9: incq %%rcx\n cmpq $50000, %%rcx\n jb 9b\n incq %[cell]\n" COMMITTED
        : : [area] "r"(a), [cell] "m"(cell[1]) : "memory", "cc", "rax", "rcx" : aborted);
    return 0;
aborted:
    return -1;
}
// Half of it, from a jump into it.
static int middle(struct area *a, long announced) {
    asm volatile goto("testq %[announced], %[announced]\n jz 6f\n" SEQUENCE "addq $1, %[cell]\n 6: "
                                                                            "addq $1, %[cell]\n "
                                                                            "nop\n" COMMITTED
                      :
                      : [area] "r"(a), [announced] "r"(announced), [cell] "m"(cell[2])
                      : "memory", "cc", "rax"
                      : aborted);
    return 0;
aborted:
    return -1;
}
static void all(struct area *a) {
    static const long list[] = {5, 3, 9, 7}; long r;
    for (int i = 0; i < 4; i++) { while ((r = search(a, list, 4, list[i])) == -2) {} SAME(r, i); }
    while ((r = search(a, list, 4, 11)) == -2) {}
    SAME(r, -1);
    while ((r = search(a, list, 0, 5)) == -2) {}
    SAME(r, -1);
    for (int i = 0; i < 100; i++) {
        cell[2] = 0;
        int n = middle(a, i & 1);
        if (!n) SAME(cell[2], 1 + (i & 1));
    }
}
int main(void) {
    struct area *a = area();
    static struct area unused;
    if ((int)a->cpu_id < 0) {
        puts("ok");
        return 0;
    }
    for (int i = 0; i < 50; i++) { all(a); all(&unused); }
    if (fork() == 0) { for (int i = 0; i < 50; i++) { all(a); all(&unused); } return failures; }
    int status; wait(&status); SAME(status, 0);
    SAME(syscall(SYS_rseq, a, 32, 1, SIGNATURE), 0);
    all(a); all(&unused); SAME(syscall(SYS_rseq, &unused, 32, 0, 0x1234abcd), 0);
    struct itimerval timer = {{0, 500}, {0, 500}};
    signal(SIGALRM, (void (*)(int))abs);
    setitimer(ITIMER_REAL, &timer, 0);
    long done = 0, aborted = 0;
    while (done < 500 || aborted < 10) {
        int r = signed_otherwise(&unused);
        done += r == 0;
        aborted += r < 0;
    }
    memset(&timer, 0, sizeof timer); setitimer(ITIMER_REAL, &timer, 0); SAME(cell[1], done);
    if (getenv("SHOW")) printf("%ld done, %ld aborted\n", done, aborted);
    SAME(syscall(SYS_rseq, &unused, 32, 1, 0x1234abcd), 0);
    CHECK(unused.cs == 0 || unused.cs > 4096);
    FINISH();
}
