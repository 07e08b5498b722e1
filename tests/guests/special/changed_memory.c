// A program that asks the tool `storer` for other values in its memory: at the operand of an
// instruction before it, and where rdi points behind one. Both may fault, and code may be changed.
// Without the tool it ends with status 2.
//@ libs: -lpthread
//@ variants: pie static
#include "guest.h"
#include <pthread.h>
#include <sys/mman.h>
enum { ROUNDS = 40000, PAGE = 4096 };
static volatile int faults, ticks;
static unsigned char *page;
extern char before_fault[], behind_fault[];
static void on_fault(int signal, siginfo_t *info, void *context) {
    ucontext_t *user = context;
    SAME(signal, SIGSEGV); SAME(info->si_addr, page);
    char *pc = (char *)user->uc_mcontext.gregs[REG_RIP];
    SAME(pc, faults == 0 ? before_fault : behind_fault);
    SAME(user->uc_mcontext.gregs[REG_R15], 21);
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    faults++;
}
static void on_tick(int signal) { ticks += signal == SIGALRM; }
// What is to be stored in r15; the carry goes into the instruction.
static unsigned long before(unsigned long *word, unsigned long value) {
    register unsigned long r15 __asm__("r15") = value;
    unsigned char carry;
    __asm__ volatile("stc\nrcll $1, (%[word])\n setc %[carry]"
                     : [carry] "=q"(carry) : [word] "r"(word), "r"(r15) : "cc", "memory");
    if (carry) failures++;
    return *word;
}
static void behind(void *where, unsigned long value) {
    register unsigned long r15 __asm__("r15") = value;
    register void *rdi __asm__("rdi") = where;
    unsigned long other = 1;
    __asm__ volatile("stc\n rcr $1, %[other]\n nop" : [other] "+r"(other)
                     : "r"(rdi), "r"(r15) : "cc", "memory");
    SAME(other, 1ul << 63);
}
static void *body(void *unused) {
    unsigned long word = 0;
    unsigned to[2] = {0, 77};
    for (int round = 0; round < ROUNDS / 10; round++) {
        if (before(&word, round) != (unsigned)round * 2 + 1) failures++;
        behind(to, round);
        if (to[0] != (unsigned)round || to[1] != 77) failures++;
    }
    return unused;
}
// The page cannot be written to.
static void faulting(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    mprotect(page, PAGE, PROT_NONE);
    __asm__ volatile("mov $21, %%r15d\n stc\n before_fault: rcll $1, (%0)"
                     : : "r"(page) : "r15", "cc", "memory");
    SAME(faults, 1); SAME(*(unsigned *)page, 43);
    mprotect(page, PAGE, PROT_READ);
    __asm__ volatile("mov $21, %%r15d\n mov %0, %%rdi\n xor %%eax, %%eax\n rcr $1, %%eax\n"
                     "behind_fault: nop" : : "r"(page) : "r15", "rax", "rdi", "cc", "memory");
    SAME(faults, 2); SAME(*(unsigned *)page, 43);
}
// mov eax, 1; ret
static void changing_code(void) {
    mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(page, "\xb8\1\0\0\0\xc3", 6);
    int (*code)(void) = (int (*)(void))page;
    SAME(code(), 1);
    for (int n = 2; n < 6; n++) {
        behind(page + 1, n);
        SAME(code(), n);
        SAME(code(), n);
    }
    unsigned long word = before((unsigned long *)(page + 1), 50);
    SAME((unsigned)word, 101); SAME(code(), 101);
}
int main(void) {
    unsigned long word = 5ul << 32;
    if (before(&word, 7) == (5ul << 32 | 1)) return 2; // nobody has stored anything
    SAME(word, 5ul << 32 | 15);
    page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    faulting();
    changing_code();
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int n = 0; n < 10; n++) body(NULL);
    while (!ticks) {} // (A fast processor is through in less than that.)
    setitimer(ITIMER_REAL, &none, NULL);
    pthread_t threads[3];
    for (int n = 0; n < 3; n++) pthread_create(&threads[n], NULL, body, NULL);
    for (int n = 0; n < 3; n++) pthread_join(threads[n], NULL);
    FINISH();
}
