// Calls into the kernel's vsyscall page, as old static programs make them, and the
// faults beside its three entries (where the kernel has no such page: faults everywhere).
//@ variants: pie nopie static
#include "guest.h"
#include <setjmp.h>

#define PAGE 0xffffffffff600000

static sigjmp_buf back;

static void on_fault(int signal, siginfo_t *info, void *context) {
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    u64 inside = regs[REG_RIP] - PAGE;
    printf("signal %d, code %d, trap %lld, ", signal, info->si_code, regs[REG_TRAPNO]);
    printf(inside < 4096 ? "at %lx\n" : "in the program\n", inside);
    siglongjmp(back, 1);
}

static long call(u64 at, void *first, void *second) {
    if (sigsetjmp(back, 1)) return -1;
    return ((long (*)(void *, void *, void *))(PAGE + at))(first, second, 0);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, 0);
    struct timeval time = {0};
    unsigned cpu = 4096, node = 4096;
    for (int round = 0; round < 3; round++) {
        long result = call(0, &time, 0);
        printf("gettimeofday %ld %d\n", result, time.tv_sec > 1000000);
        printf("time %d\n", call(0x400, 0, 0) >= time.tv_sec - 5);
        result = call(0x800, &cpu, &node);
        printf("getcpu %ld %d %d\n", result, cpu < 4096, node < 4096);
        printf("beside %ld\n", call(1, 0, 0));
        printf("bad pointer %ld\n", call(0, (void *)8, 0));
    }
    fflush(stdout);
    if (sigsetjmp(back, 1) == 0) printf("read %d\n", *(volatile int *)PAGE);
    return 0;
}
