// cpuid: answers that do not change are the same each time, whoever asks first; registers and flags
// beside rax to rdx stay; signals at any place; and it faults when the program wants that.
//@ variants: pie nopie static
//@ cflags: -O1 -pthread
#include "guest.h"
#include <asm/prctl.h>
#include <pthread.h>
#include <sched.h>

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

struct answer {
    u32 eax, ebx, ecx, edx;
};

static struct answer ask(u32 leaf, u32 subleaf) {
    struct answer is;
    asm volatile("cpuid"
                 : "=a"(is.eax), "=b"(is.ebx), "=c"(is.ecx), "=d"(is.edx)
                 : "a"(leaf), "c"(subleaf));
    return is;
}

static const u32 leaves[] = {0, 7, 0x14, 0x16, 0x19, 0x80000000, 0x80000002, 0x80000008};

static void print_all(void) {
    for (unsigned n = 0; n < sizeof leaves / 4; n++)
        for (u32 subleaf = 0; subleaf < 4; subleaf++) {
            struct answer is = ask(leaves[n], subleaf);
            printf("%x.%x: %x %x %x %x\n", leaves[n], subleaf, is.eax, is.ebx, is.ecx, is.edx);
        }
    // Without the number of the processor, and what depends on it.
    struct answer is = ask(1, 0);
    printf("1: %x %x %x %x\n", is.eax, is.ebx & 0xffffff, is.ecx, is.edx);
    is = ask(0xd, 0);
    printf("d: %x %x %x %x\n", is.eax, is.ebx, is.ecx, is.edx);
    // None of the lists has this one.
    is = ask(0x12345678, 5);
    SAME(is.eax, ask(0x12345678, 5).eax);
}

u64 stack_before, after[10];

static void registers_stay(u32 leaf) {
    asm volatile("mov $0x1111, %%esi; mov $0x2222, %%edi; mov $0x3333, %%r8d; mov $0x4444, %%r9d\n"
                 "mov $0x5555, %%r10d; mov $0x6666, %%r11d; mov %%rsp, stack_before(%%rip)\n"
                 "mov $-1, %%rdx; mov $-1, %%rbx; xor %%ecx, %%ecx\n"
                 "push $0x8d7; popfq; cpuid; pushfq; pop after+72(%%rip)\n"
                 "mov %%rsp, after(%%rip); mov %%rsi, after+8(%%rip); mov %%rdi, after+16(%%rip)\n"
                 "mov %%r8, after+24(%%rip); mov %%r9, after+32(%%rip)\n"
                 "mov %%r10, after+40(%%rip); mov %%r11, after+48(%%rip)\n"
                 "mov %%rbx, after+56(%%rip); mov %%rdx, after+64(%%rip)\n" ::"a"(leaf)
                 : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    SAME(after[0], stack_before);
    for (u64 n = 1; n < 7; n++) SAME(after[n], 0x1111 * n);
    SAME(after[7] >> 32, 0);
    SAME(after[8] >> 32, 0);
    SAME(after[9] & 0x8d5, 0x8d5);
}

static volatile u64 ticks, wrong;

static void tick(int signal) {
    (void)signal;
    ticks++;
    wrong += ask(0, 0).eax != ask(0, 7).eax;
}

static void under_a_timer(void) {
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, tick);
    struct answer first = ask(0x80000002, 0), one = ask(1, 0);
    setitimer(ITIMER_REAL, &often, 0);
    for (int n = 0; n < 100000 && ticks < 400; n++) {
        struct answer again = ask(0x80000002, 0), changing = ask(1, 0);
        CHECK(!memcmp(&again, &first, sizeof again));
        CHECK(changing.eax == one.eax && changing.edx == one.edx);
    }
    setitimer(ITIMER_REAL, &never, 0);
    SAME(wrong, 0);
}

static void *in_a_thread(void *of) {
    struct answer first = ask(7, 0), again;
    for (int n = 0; n < 1000; n++) {
        again = ask(7, 0);
        CHECK(!memcmp(&first, &again, sizeof first));
    }
    *(struct answer *)of = first;
    return 0;
}

extern u8 cpuid_at[];
static int faults;

static void faulted(int signal, siginfo_t *info, void *c) {
    SAME(signal, SIGSEGV);
    SAME(info->si_code, SI_KERNEL);
    SAME(GREG(c, REG_RIP), cpuid_at);
    SAME(GREG(c, REG_RAX), 0);
    SAME(GREG(c, REG_RBX), 0x1234);
    SAME(GREG(c, REG_RCX), 2);
    SAME(GREG(c, REG_RDX), 0x5678);
    SAME(GREG(c, REG_EFL) & 0x8d5, 0x8d5);
    GREG(c, REG_RIP) += 2;
    faults++;
}

static struct answer ask_at_label(u32 leaf, u32 subleaf) {
    u64 a = leaf, b = 0x1234, c = subleaf, d = 0x5678;
    asm volatile("push $0x8d7; popfq\n"
                 ".globl cpuid_at\ncpuid_at: cpuid"
                 : "+a"(a), "+b"(b), "+c"(c), "+d"(d)::"memory", "cc");
    return (struct answer){a, b, c, d};
}

// Where the processor cannot fault there, the kernel refuses.
static void when_it_faults(void) {
    struct answer first = ask_at_label(0, 2);
    struct sigaction action = {.sa_sigaction = faulted, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, 0);
    long refused = syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
    printf("to fault: %ld\n", refused);
    for (int n = 0; n < 3 && !refused; n++) ask_at_label(0, 2);
    printf("faults: %d\n", faults);
    if (!refused) SAME(syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1), 0);
    struct answer again = ask_at_label(0, 2);
    CHECK(!memcmp(&first, &again, sizeof first));
}

// The processor's number is in leaf 1, and in one of two others, which are asked each time.
static u32 number_by_topology(void) {
    struct answer is = ask(0, 0).eax >= 0xb ? ask(0xb, 0) : (struct answer){};
    if (is.ebx) return is.edx & 0xff;
    return ask(0x80000000, 0).eax >= 0x8000001e ? ask(0x8000001e, 0).eax & 0xff : 0;
}

static void number_of_the_processor(void) {
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    int differ = 0;
    for (int round = 0; round < 3; round++)
        for (int n = 0; n < CPU_SETSIZE; n++) {
            if (!CPU_ISSET(n, &all)) continue;
            CPU_ZERO(&one);
            CPU_SET(n, &one);
            SAME(sched_setaffinity(0, sizeof one, &one), 0);
            for (int again = 0; again < 3; again++)
                differ += ask(1, 0).ebx >> 24 != number_by_topology();
        }
    sched_setaffinity(0, sizeof all, &all);
    printf("numbers of processors: %d differ\n", differ);
}

int main(void) {
    print_all();
    print_all();
    number_of_the_processor();
    registers_stay(0);
    registers_stay(1);
    registers_stay(0);
    under_a_timer();
    pthread_t threads[4];
    struct answer found[4];
    for (int n = 0; n < 4; n++) pthread_create(&threads[n], 0, in_a_thread, &found[n]);
    for (int n = 0; n < 4; n++) pthread_join(threads[n], 0);
    CHECK(!memcmp(&found[0], &found[3], sizeof found[0]));
    fflush(stdout);
    if (!fork()) {
        when_it_faults();
        fflush(stdout);
        _exit(failures != 0);
    }
    int status;
    wait(&status);
    SAME(status, 0);
    FINISH();
}
