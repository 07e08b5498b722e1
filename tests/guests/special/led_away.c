// A program that asks the tool `jumper` to lead it away: over an instruction, to another in its
// place, from behind one, and to an address where nothing is; in threads and under a timer.
// Without the tool it ends with status 2.
//@ libs: -lpthread
//@ variants: pie nopie
#include "guest.h"
#include <pthread.h>
enum { ROUNDS = 40000 };
static volatile int faults, ticks;
static void on_fault(int signal, siginfo_t *info, void *context) {
    ucontext_t *user = context;
    SAME(signal, SIGSEGV); SAME(info->si_addr, 0x10);
    SAME(user->uc_mcontext.gregs[REG_RIP], 0x10);
    user->uc_mcontext.gregs[REG_RIP] = user->uc_mcontext.gregs[REG_R15];
    faults++;
}
static void on_tick(int signal) { ticks += signal == SIGALRM; }
// The number that asks in r14, the word that says whether in rbx, a place in r15.
#define ASK "mov $0xa5c5, %%r14d\n mov %[word], %%rbx\n lea 1f(%%rip), %%r15\n"
#define CLOBBERS "rbx", "r14", "r15", "cc"
// The instruction is left out, with the carry as it was.
static unsigned long left_out(unsigned long word) {
    unsigned long value = 0x1122334455667788;
    __asm__ volatile(ASK "stc\n bswap %[value]\n adc $0, %[value]\n 1:"
                     : [value] "+r"(value) : [word] "r"(word) : CLOBBERS);
    return value;
}
// Another stands for it.
static unsigned long elsewhere(unsigned long word) {
    unsigned long found, from = 0x100;
    __asm__ volatile(ASK "xor %k[found], %k[found]\n bsf %[from], %[found]\n jmp 2f\n"
                     "1: mov $77, %k[found]\n 2:"
                     : [found] "=&r"(found) : [word] "r"(word), [from] "r"(from) : CLOBBERS);
    return found;
}
// What follows it is left out.
static unsigned long behind(unsigned long word) {
    unsigned long found, from = 0x100;
    __asm__ volatile(ASK "bsr %[from], %[found]\n not %[found]\n 1:"
                     : [found] "=&r"(found) : [word] "r"(word), [from] "r"(from) : CLOBBERS);
    return found;
}
static unsigned long nowhere(unsigned long word) {
    unsigned long found = 5, from = 0x100;
    __asm__ volatile(ASK "popcnt %[from], %[found]\n 1:"
                     : [found] "+r"(found) : [word] "r"(word), [from] "r"(from) : CLOBBERS);
    return found;
}
static void round_of_all(void) {
    if (left_out(1) != 0x1122334455667789 || left_out(2) != 0x8877665544332212) failures++;
    if (elsewhere(3) != 77 || elsewhere(4) != 8) failures++;
    if (behind(5) != 8 || behind(6) != ~8ul) failures++;
}
static void *body(void *unused) {
    for (int round = 0; round < ROUNDS / 10; round++) round_of_all();
    return unused;
}
int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    if (left_out(1) != 0x1122334455667789) return 2; // nobody leads it away
    round_of_all();
    for (int n = 1; n <= 3; n++) { SAME(nowhere(1), 5); SAME(faults, n); }
    SAME(nowhere(2), 1);
    action.sa_handler = on_tick; action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 300}, {0, 300}}, none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int round = 0; round < ROUNDS; round++) round_of_all();
    setitimer(ITIMER_REAL, &none, NULL);
    CHECK(ticks > 0);
    pthread_t threads[3];
    for (int n = 0; n < 3; n++) pthread_create(&threads[n], NULL, body, NULL);
    for (int n = 0; n < 3; n++) pthread_join(threads[n], NULL);
    FINISH();
}
