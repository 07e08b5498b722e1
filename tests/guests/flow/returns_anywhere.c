// Calls and returns at every place of 64 KiB of stack, and at places that are no multiples of 8:
// direct, indirect, and past a changed return address; a timer sees no other stack pointer.
#include "guest.h"
enum { SPAN = 1 << 16 };
static u8 *stack;
static volatile u64 called, strange;
__attribute__((naked, used)) static void leaf(void) { asm("incq called(%rip); ret"); }
__attribute__((naked, used)) static void pushes(void) {
    asm("push %rbx; incq called(%rip); pop %rbx; ret");
}
__attribute__((naked, used)) static void elsewhere(void) {
    asm("mov %r12, (%rsp); incq called(%rip); ret");
}
// Calls all of them with the stack pointer at `at`; rcx, rdx and the flags stay.
__attribute__((noinline)) static void calls_at(void *at) {
    u64 c = 0x1234, d = 0x5678, carry;
    asm volatile("mov %%rsp, %%rbp; mov %3, %%rsp; stc\n"
                 "call leaf; call pushes; call *%%rbx; lea 1f(%%rip), %%r12; call elsewhere; ud2\n"
                 "1: mov %%rbp, %%rsp; sbb %2, %2"
                 : "+c"(c), "+d"(d), "=a"(carry)
                 : "r"(at), "b"(leaf)
                 : "rbp", "r12", "memory", "cc");
    SAME(c, 0x1234);
    SAME(d, 0x5678);
    SAME(carry, -1);
}
static void look(int s, siginfo_t *i, void *c) {
    u64 rsp = GREG(c, REG_RSP), own = (u64)&rsp;
    strange += rsp - (u64)stack >= 3 * SPAN && rsp - own >= 1 << 20;
}
static u64 rounds;
// Around a multiple of 64 KiB, at all bytes.
__attribute__((noinline)) static void calls_around(void) {
    u64 border = ((u64)stack + 2 * SPAN) & -(u64)SPAN;
    for (int at = -40; at < 40; at++, rounds++) calls_at((void *)(border + at));
}
// The same, while a caller waits with its own frame `below` such a multiple.
__attribute__((noinline)) static void calls_while_one_waits(u64 below) {
    u64 here = (u64)__builtin_frame_address(0) % SPAN;
    *(volatile char *)__builtin_alloca(((here + below) % SPAN) | 16) = 0;
    calls_around();
}
int main(void) {
    stack = pages(3 * SPAN / 4096, PROT_READ | PROT_WRITE);
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    on(SIGALRM, look, SA_ONSTACK);
    setitimer(ITIMER_REAL, &often, 0);
    for (int at = 0; at < SPAN; at += 8, rounds++) calls_at(stack + SPAN + at);
    for (int below = -0x180; below < 0x180; below += 16) calls_while_one_waits(below);
    setitimer(ITIMER_REAL, &never, 0);
    SAME(called, 4 * rounds);
    SAME(strange, 0);
    FINISH();
}
