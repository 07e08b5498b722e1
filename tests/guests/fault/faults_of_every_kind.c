// Faults from unusual places, again and again with a jump out of the handler: inside the
// vdso, from rdtsc switched off, from system calls' pointers, on a page without access
// that code is called in, from a misaligned vector access, from int with any vector.
//@ run: 0 => exit 0
//@ run: 1 => exit 0
//@ run: 2 => exit 0
//@ run: 3 => exit 0
//@ run: 4 => exit 0
//@ run: 5 => exit 0
//@ timeout: 10
#include "guest.h"
#include <setjmp.h>
#include <sys/prctl.h>
static sigjmp_buf back;
static volatile int code_;
static void handler(int s, siginfo_t *i, void *c) {
    code_ = i->si_code;
    siglongjmp(back, s);
}
int main(int argc, char **argv) {
    on(SIGSEGV, handler, SA_NODEFER);
    on(SIGBUS, handler, SA_NODEFER);
    on(SIGILL, handler, SA_NODEFER);
    int way = atoi(argv[1]);
    u8 *none = pages(1, PROT_NONE), *ro = pages(1, PROT_READ);
    for (volatile int r = 0; r < 200; r++) {
        int s = sigsetjmp(back, 1);
        if (s) {
            if (r < 2) printf("signal %d code %d\n", s, code_);
            continue;
        }
        switch (way) {
            case 0: clock_gettime(CLOCK_MONOTONIC, (struct timespec *)none); break;
            case 1: {
                prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
                u32 a, d;
                asm volatile("rdtsc" : "=a"(a), "=d"(d));
                puts("read");
                break;
            }
            case 2:
                if (r == 0) printf("%d\n", (int)syscall(SYS_read, 0, none, 10));
                gettimeofday((struct timeval *)ro, 0);
                break;
            case 3: ((function)(r % 2 ? none : ro))(); break;
            case 4:
                asm volatile("movaps %%xmm0, 1(%0)" ::"r"(((u64)&argv & -16)) : "memory");
                break;
            default:
                if (r % 2) asm volatile("int $0x88");
                else asm volatile("mov $0, %%ecx; rdpmc" ::: "rax", "rcx", "rdx");
        }
    }
    prctl(PR_SET_TSC, PR_TSC_ENABLE); FINISH();
}
