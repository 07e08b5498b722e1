// Sequences in generated code, with their descriptors beside them: rewritten, thrown away,
// made anew at the same place.
//@ variants: pie static
//@ timeout: 60
#include "sequences.h"
extern char blob[], blob_end[], blob_start[], blob_commit[], blob_abort[], blob_descriptor[],
    blob_amount[];
asm(".text\n blob: leaq blob_descriptor(%rip), %rax\n movq %rax, 8(%rdi)\n"
    "blob_start: movl $3000, %ecx\n 1: decl %ecx\n jnz 1b\n .byte 0x48, 0x83, 0x06\n blob_amount: "
    ".byte 1\n"
    "blob_commit: xorl %eax, %eax\n ret\n .long 0x53053053\n blob_abort: movl $-1, %eax\n ret\n"
    ".balign 32\n blob_descriptor: .quad 0, 0, 0, 0\n blob_end:\n");
static long counter, done, aborted; static void on_signal(int s) {}
typedef int (*code)(struct area *, long *);
static void make(char *to, int amount) {
    area()->cs = 0; // the kernel looks at what it names
    memcpy(to, blob, blob_end - blob);
    struct descriptor *d = (void *)(to + (blob_descriptor - blob));
    d->start = (u64)to + (blob_start - blob);
    d->length = blob_commit - blob_start;
    d->abort = (u64)to + (blob_abort - blob);
    to[blob_amount - blob] = amount;
}
static void run(char *at, int amount, int times) {
    for (int n = 0; n < times;) {
        long before = counter;
        int r = ((code)at)(area(), &counter);
        if (r) {
            aborted++;
            SAME(counter, before);
        } else {
            n++;
            done += amount;
            SAME(counter, before + amount);
        }
    }
}
int main(void) {
    if ((int)area()->cpu_id < 0) { puts("ok"); return 0; }
    char *page = mmap(0, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct itimerval timer = {{0, 300}, {0, 300}};
    signal(SIGALRM, on_signal); setitimer(ITIMER_REAL, &timer, 0);
    for (int round = 0; round < 60; round++) {
        make(page + round % 3 * 256, round % 100); run(page + round % 3 * 256, round % 100, 20);
        area()->cs = 0;
        page[round % 3 * 256 + (blob_amount - blob)] = 7;
        run(page + round % 3 * 256, 7, 20);
        if (round % 20 == 19) {
            area()->cs = 0;
            munmap(page, 8192);
            page = mmap(page, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        }
    }
    for (int n = 0; n < 1000 && aborted < 20; n++) { make(page, 1); run(page, 1, 20); }
    memset(&timer, 0, sizeof timer); setitimer(ITIMER_REAL, &timer, 0);
    SAME(counter, done); CHECK(aborted > 0);
    if (getenv("SHOW")) printf("%ld done, %ld aborted\n", done, aborted);
    FINISH();
}
