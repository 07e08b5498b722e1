// Shared by the guests of this folder: filters of system calls that kill for whatever
// they do not list.
#ifndef SANDBOX_H
#define SANDBOX_H
#include "../guest.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>

// Lets the listed calls pass (the list ends with -1); `other` befalls the rest.
static inline struct sock_fprog only(const int *allowed, u32 other) {
    static struct sock_filter code[256];
    int n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; *allowed >= 0; allowed++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, *allowed, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, other);
    return (struct sock_fprog){n, code};
}

static inline long confine(const int *allowed, u32 other, int flags) {
    struct sock_fprog program = only(allowed, other);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) _exit(97);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static inline void no_core(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

static inline void say(const char *text) {
    ssize_t n = write(1, text, strlen(text));
    (void)n;
}

static inline void say_number(const char *what, unsigned long value) {
    char text[64], *at = text + sizeof text;
    *--at = 0, *--at = '\n';
    do *--at = '0' + value % 10; while (value /= 10);
    say(what), say(at);
}

// The kernel's exit, which the C library asks for with more around it.
static inline void leave(int status) { syscall(SYS_exit_group, status); }

// Two thousand functions, none of which has run before: several hundred KB of new code.
#define F(n) __attribute__((noinline)) static u64 function_##n(u64 x) { \
    if (x & 1) x = x * 3 + n; else x ^= x >> 7 ^ n; \
    if (x & 8) x += x << 9; \
    for (int i = 0; i < (n & 3); i++) x = x * 5 + i; \
    return x ^ 0x##n; }
#define F10(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define F100(n)                                                                                    \
    F10(n##0)                                                                                      \
    F10(n##1) F10(n##2) F10(n##3) F10(n##4) F10(n##5) F10(n##6) F10(n##7) F10(n##8) F10(n##9)
#define N(n) function_##n,
#define N10(n) N(n##0) N(n##1) N(n##2) N(n##3) N(n##4) N(n##5) N(n##6) N(n##7) N(n##8) N(n##9)
#define N100(n)                                                                                    \
    N10(n##0)                                                                                      \
    N10(n##1) N10(n##2) N10(n##3) N10(n##4) N10(n##5) N10(n##6) N10(n##7) N10(n##8) N10(n##9)
#define ALL(m)                                                                                     \
    m(10) m(11) m(12) m(13) m(14) m(15) m(16) m(17) m(18) m(19) m(20) m(21) m(22) m(23) m(24)      \
        m(25) m(26) m(27) m(28) m(29)
#endif
