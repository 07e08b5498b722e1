// Jumps and calls through cells at fixed places, whose contents change: rarely, at each call, by a
// signal handler, to what is no code, and to the jump itself.
//@ variants: pie static
//@ cflags: -O1
//@ libs: -pthread
#include "guest.h"
#include <pthread.h>
enum { N = 4000 };
u64 cell, log_of[4], seen_flags;
asm(".text\n"
    "by_call: push %rbx; mov %rdi, %rbx; call *cell(%rip); pop %rbx; ret\n"
    // All status flags are 1, and all registers of arguments are as they were.
    "by_jump: mov $0x8d5, %eax; push %rax; popf; mov $5, %eax; mov $6, %ecx\n"
    "jump: jmp *cell(%rip)\n"
    "one: pushf; popq seen_flags(%rip); incq log_of(%rip); lea (%rax,%rcx), %rax; ret\n"
    "two: pushf; popq seen_flags(%rip); incq log_of+8(%rip); lea (%rax,%rcx,2), %rax; ret\n"
    "three: pushf; popq seen_flags(%rip); incq log_of+16(%rip); lea (%rax,%rcx,4), %rax; ret\n");
u64 by_call(u64), by_jump(u64);
extern u8 jump[], one[], two[], three[];
static u8 *const all[] = {one, two, three};
static u64 go(u64 (*by)(u64), u8 *to) {
    cell = (u64)to;
    seen_flags = 0;
    u64 result = by(1);
    if (by == by_jump) SAME(seen_flags & 0x8d5, 0x8d5);
    return result;
}
static void each(u64 (*by)(u64)) {
    memset(log_of, 0, sizeof log_of);
    for (int i = 0; i < N; i++) go(by, one);
    for (int i = 0; i < N; i++) go(by, two);
    for (int i = 0; i < N; i++) go(by, all[i % 3]);
    for (int i = 0; i < N; i++) go(by, i % 100 ? one : three);
    SAME(log_of[0], N + (N + 2) / 3 + N - N / 100);
    SAME(log_of[1], N + (N + 1) / 3);
    SAME(log_of[2], N / 3 + N / 100);
    if (by == by_jump) {
        SAME(go(by, one), 11);
        SAME(go(by, two), 17);
        SAME(go(by, three), 29);
    }
}
static u64 fault_at;
static void fault(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info;
    fault_at = GREG(context, REG_RIP);
    SAME(GREG(context, REG_RAX), 5);
    SAME(GREG(context, REG_RCX), 6);
    GREG(context, REG_RIP) = (u64)one;
}
// What is no code: where the processor says that it went wrong.
static void no_code(void) {
    on(SIGSEGV, fault, 0);
    for (int i = 0; i < 3; i++) {
        SAME(go(by_jump, (u8 *)1), 11);
        SAME(fault_at, 1);
        SAME(go(by_jump, (u8 *)(1ull << 63)), 11);
        SAME(fault_at, (u64)jump);
        SAME(go(by_jump, (u8 *)-(u64)jump), 11);
        SAME(fault_at, -(u64)jump);
    }
}
static volatile int ticks;
static void tick(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info, (void)context;
    ticks++;
    cell = (u64)one;
}
// The cell leads to the jump: round and round, until a signal handler changes it.
static void to_itself(void) {
    on(SIGALRM, tick, 0);
    struct itimerval soon = {{0, 0}, {0, 3000}};
    for (int i = 0; i < 3; i++) {
        setitimer(ITIMER_REAL, &soon, 0);
        SAME(go(by_jump, jump), 11);
    }
    SAME(ticks, 3);
}
static u64 by_two_threads;
static void *other(void *unused) {
    for (int i = 0; i < 300000; i++) *(volatile u64 *)&cell = (u64)all[i % 2];
    return unused;
}
// Another thread changes the cell all the time.
static void meanwhile(void) {
    pthread_t thread;
    cell = (u64)one;
    pthread_create(&thread, 0, other, 0);
    for (int i = 0; i < 300000; i++) {
        u64 result = by_jump(1);
        by_two_threads += result != 11 && result != 17;
    }
    pthread_join(thread, 0);
    SAME(by_two_threads, 0);
}
int main(void) {
    each(by_call);
    each(by_jump);
    no_code();
    to_itself();
    meanwhile();
    FINISH();
}
