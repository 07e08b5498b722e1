// Return addresses that do not stay where calls have pushed them, as compilers of other languages
// have it: taken from the stack and pushed again for the return (Guile), moved to a frame by the
// first instruction (SBCL), returns that take arguments along (V8).
//@ variants: pie nopie static
//@ timeout: 60
#include "guest.h"

// n, and a stack of their own that grows upward.
extern u64 popped(u64 n, u64 *stack), stored(u64 n, u64 *stack), moved(u64 n), taken(u64 n);
extern u64 taken_many(u64 n), moved_in_image(u64 n), counted(u64 n), by_each(u64 *at);
asm(".text\n"
    // fib: the return address lies on the own stack; all calls come from one place of the CPU's.
    "popped: push %rbx; push %rsi; mov %rsi, %rbx; call 1f; pop %rsi; pop %rbx; ret\n"
    "1: pop %r11; mov %r11, (%rbx); add $16, %rbx; mov %rdi, %rax; cmp $2, %rdi; jb 2f\n"
    "mov %rdi, -8(%rbx); dec %rdi; call 1b\n"
    "mov -8(%rbx), %rdi; mov %rax, -8(%rbx); sub $2, %rdi; call 1b; add -8(%rbx), %rax\n"
    "2: sub $16, %rbx; mov (%rbx), %r11; push %r11; ret\n"
    // The same by a store, as retpolines return.
    "stored: push %rbx; mov %rsi, %rbx; call 3f; pop %rbx; ret\n"
    "3: pop (%rbx); add $16, %rbx; mov %rdi, %rax; cmp $2, %rdi; jb 4f\n"
    "mov %rdi, -8(%rbx); dec %rdi; call 3b\n"
    "mov -8(%rbx), %rdi; mov %rax, -8(%rbx); sub $2, %rdi; call 3b; add -8(%rbx), %rax\n"
    "4: sub $16, %rbx; mov (%rbx), %r11; push %rcx; mov %r11, (%rsp); ret\n"
    // The caller makes the frame, the callee moves its address there, and returns from it.
    "moved: push %rbp; sub $32, %rsp; mov %rbp, (%rsp); mov %rsp, %rbp; call 5f\n"
    "add $16, %rsp; pop %rbp; ret\n"
    "5: pop 8(%rbp); mov %rdi, %rax; cmp $2, %rdi; jb 6f\n"
    "mov %rdi, 16(%rbp); dec %rdi; sub $32, %rsp; mov %rbp, (%rsp); mov %rsp, %rbp; call 5b\n"
    "add $16, %rsp; mov %rax, 24(%rbp); mov 16(%rbp), %rdi; sub $2, %rdi\n"
    "sub $32, %rsp; mov %rbp, (%rsp); mov %rsp, %rbp; call 5b; add $16, %rsp; add 24(%rbp), %rax\n"
    "6: mov %rbp, %rcx; mov (%rbp), %rbp; lea 8(%rcx), %rsp; ret\n"
    // Moved to the image's data, by an address that is relative to the instruction.
    "moved_in_image: lea 1(%rdi), %rdi; call 7f; add $2, %rax; ret\n"
    "7: pop place(%rip); lea (%rdi, %rdi), %rax; push place(%rip); ret\n"
    // Moved by each of some registers, and by two.
    "by_each: push %r12; push %r13; mov %rdi, %rax; call 20f; mov %rdi, %rcx; call 21f; mov %rdi, "
    "%rdx; call 22f\n"
    "mov %rdi, %r12; call 23f; mov %rdi, %r13; call 24f; mov $2, %ecx; mov %rdi, %rax; call 25f\n"
    "lea 8(%rcx, %rdx), %rax; sub %rdi, %rax\n"
    "pop %r13; pop %r12; ret\n"
    "20: pop (%rax); push (%rax); ret\n 21: pop 8(%rcx); push 8(%rcx); ret\n"
    "22: pop 128(%rdx); push 128(%rdx); ret\n 23: pop (%r12); push (%r12); ret\n"
    "24: pop 8(%r13); push 8(%r13); ret\n 25: pop 8(%rax, %rcx, 8); push 8(%rax, %rcx, 8); ret\n"
    // An argument that the return takes along.
    "taken: push %rdi; call 8f; ret\n"
    "8: mov 8(%rsp), %rax; cmp $2, %rax; jb 9f\n"
    "dec %rax; push %rax; call 8b; push %rax; mov 16(%rsp), %rax; sub $2, %rax; push %rax\n"
    "call 8b; pop %rcx; add %rcx, %rax\n"
    "9: ret $8\n"
    // Many of them: more than a signed byte and a signed half can say.
    "taken_many: mov %rsp, %r8; sub $0x98, %rsp; call 10f; sub $0x7ff8, %rsp; call 11f\n"
    "sub $0xfff8, %rsp; call 12f; sub %rsp, %r8; lea (%rdi, %r8), %rax; ret\n"
    "10: ret $0x98\n 11: ret $0x7ff8\n 12: ret $0xfff8\n"
    // As many as a register says.
    "counted: mov %rdi, %rcx; and $7, %rcx; mov %rcx, %rdx; neg %rdx; lea (%rsp, %rdx, 8), %rsp\n"
    "call 13f; ret\n"
    "13: mov %rdi, %rax; pop %r10; lea (%rsp, %rcx, 8), %rsp; push %r10; ret\n"
    ".lcomm place, 8\n");

static u64 fib(u64 n) {
    u64 one = 1, two = 0;
    for (; n; n--) two += one, one = two - one;
    return two;
}

static volatile long ticks;
static void tick(int s, siginfo_t *i, void *c) {
    (void)s, (void)i, (void)c;
    ticks++;
}

// Signals come between any two instructions.
static void interrupted_every(long microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, 0);
}

int main(void) {
    on(SIGALRM, tick, SA_RESTART);
    interrupted_every(150);
    u64 *stack = (u64 *)pages(16, PROT_READ | PROT_WRITE);
    for (int round = 0; round < 60; round++)
        for (u64 n = 0; n < 20; n++) {
            SAME(popped(n, stack), fib(n));
            SAME(stored(n, stack), fib(n));
            SAME(moved(n), fib(n));
            SAME(taken(n), fib(n));
        }
    for (u64 n = 0; n < 3000; n++) {
        SAME(moved_in_image(n), 2 * n + 4);
        SAME(by_each(stack), 10);
        SAME(taken_many(n), n);
        SAME(counted(n), n);
    }
    interrupted_every(0);
    FINISH();
}
