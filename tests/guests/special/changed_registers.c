// A program that asks the tool `changer` for other values in its registers: before instructions,
// one of which faults with the new value and is executed again with that of a handler, and behind
// them, in threads and under a timer. Without the tool it ends with status 2.
//@ libs: -lpthread
//@ variants: pie static
#include "guest.h"
#include <pthread.h>
enum { ROUNDS = 60000 };
static volatile unsigned long word __attribute__((aligned(16))) = 0x100;
static volatile int faults, ticks;
static void on_fault(int signal, siginfo_t *info, void *context) {
    ucontext_t *user = context;
    if (!info->si_addr) _exit(2); // nobody has changed it
    SAME(signal, SIGSEGV); SAME(info->si_addr, 0x10);
    SAME(user->uc_mcontext.gregs[REG_RBX], 0x10);
    user->uc_mcontext.gregs[REG_RBX] = (greg_t)&word;
    faults++;
}
static void on_tick(int signal) { ticks += signal == SIGALRM; }
// The number that asks in r14, and where the word is in r15.
#define ASK "mov $0xa5c5, %%r14d\n mov %[word], %%r15\n"
static unsigned long redirected(void) {
    unsigned long found = 77, left;
    __asm__ volatile(ASK "xor %%ebx, %%ebx\n stc\n bsf (%%rbx), %[found]\n mov %%rbx, %[left]"
                     : [found] "=&r"(found), [left] "=&r"(left)
                     : [word] "r"(&word) : "rbx", "r14", "r15", "cc", "memory");
    SAME(left, &word);
    return found;
}
static unsigned long spoilt(void) {
    unsigned long found;
    __asm__ volatile(ASK "lea 8(%[word]), %%rbx\n bsr (%%rbx), %[found]"
                     : [found] "=&r"(found)
                     : [word] "r"(&word) : "rbx", "r14", "r15", "cc", "memory");
    return found;
}
static unsigned long hidden(unsigned long value) {
    register unsigned long rdi __asm__("rdi") = value;
    unsigned long other = 0x1122334455667788;
    __asm__ volatile(ASK "stc\n bswap %[other]\n adc $0, %[other]"
                     : "+r"(rdi), [other] "+r"(other)
                     : [word] "r"(&word) : "r14", "r15", "cc");
    SAME(other, 0x8877665544332212);
    return rdi;
}
static void *body(void *unused) {
    for (int round = 0; round < ROUNDS / 10; round++) {
        if (redirected() != 8 || hidden(round | 5ul << 40) != (unsigned)round) failures++;
    }
    return unused;
}
int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    SAME(redirected(), 8);
    for (int n = 1; n <= 3; n++) { SAME(spoilt(), 8); SAME(faults, n); }
    SAME(hidden(0x123456789abcdef0), 0x9abcdef0);
    action.sa_handler = on_tick; action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int round = 0; round < ROUNDS; round++)
        if (redirected() != 8) failures++;
    while (!ticks) {} // (A fast processor is through in less than that.)
    setitimer(ITIMER_REAL, &none, NULL);
    pthread_t threads[3];
    for (int n = 0; n < 3; n++) pthread_create(&threads[n], NULL, body, NULL);
    for (int n = 0; n < 3; n++) pthread_join(threads[n], NULL);
    FINISH();
}
