// Shared by the C and C++ guests: self-checks that print where they failed.
#ifndef GUEST_H
#define GUEST_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            failures++;                                                        \
            printf("%s:%d: %s\n", __FILE_NAME__, __LINE__, #condition);        \
        }                                                                      \
    } while (0)

// Two values that must be equal; both are printed if not.
#define SAME(a, b)                                                             \
    do {                                                                       \
        unsigned long long a_ = (unsigned long long)(a);                       \
        unsigned long long b_ = (unsigned long long)(b);                       \
        if (a_ != b_) {                                                        \
            failures++;                                                        \
            printf("%s:%d: %s = %#llx, but %s = %#llx\n", __FILE_NAME__,       \
                   __LINE__, #a, a_, #b, b_);                                  \
        }                                                                      \
    } while (0)

// The last statement of main.
#define FINISH()                                                               \
    do {                                                                       \
        puts(failures ? "FAILED" : "ok");                                      \
        return failures != 0;                                                  \
    } while (0)

#define KEEP(x) asm volatile("" : "+r"(x))

typedef unsigned char u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define GREG(context, reg) (((ucontext_t *)(context))->uc_mcontext.gregs[reg])

// Installs a three-argument handler.
static inline void on(int sig, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    if (sigaction(sig, &action, 0)) perror("sigaction"), exit(99);
}

// Divides by zero, which compilers would rather not.
static inline void divide_by_zero(void) {
    asm volatile("xor %%ecx, %%ecx; xor %%edx, %%edx; mov $1, %%eax; div %%ecx" ::
                     : "rax", "rcx", "rdx", "cc");
}

// A fresh page (or more) of anonymous memory.
static inline u8 *pages(int count, int prot) {
    u8 *p = (u8 *)mmap(0, count * 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) perror("mmap"), exit(99);
    return p;
}

// mov eax, value; ret
static inline void emit_return(u8 *code, u32 value) {
    code[0] = 0xb8;
    memcpy(code + 1, &value, 4);
    code[5] = 0xc3;
}

typedef u32 (*function)(void);

// Waits for a child and prints how it ended.
static inline void report_child(const char *what, pid_t pid) {
    int status = 0;
    pid_t got = waitpid(pid, &status, 0);
    if (got != pid) printf("%s: waitpid %d\n", what, errno), failures++;
    else if (WIFEXITED(status)) printf("%s: exit %d\n", what, WEXITSTATUS(status));
    else printf("%s: signal %d core %d\n", what, WTERMSIG(status), 0);
    fflush(stdout);
}
#endif
