// Syscall User Dispatch: calls from outside a range come back as SIGSYS while a byte says
// so, with the address behind the call; children begin without; and a filter's own SIGSYS.
#include "guest.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
static volatile char block;
static volatile int hits;
static u64 after, code, number, arch, rax, same_ip;
static int answer;
static long at(long nr, long a, long b,
               long c) { // 12 bytes before the label is no matter: the label is behind the call
    long r;
    asm volatile("lea 1f(%%rip), %%r8; mov %%r8, %1; syscall; 1:"
                 : "=a"(r), "=m"(after)
                 : "0"(nr), "D"(a), "S"(b), "d"(c)
                 : "rcx", "r11", "r8", "memory");
    return r;
}
static void h(int s, siginfo_t *i, void *x) {
    block = 0;
    hits++;
    code = i->si_code;
    number = i->si_syscall;
    arch = i->si_arch;
    same_ip = (u64)i->si_call_addr == after && (u64)GREG(x, REG_RIP) == after;
    rax = GREG(x, REG_RAX);
    if (answer) GREG(x, REG_RAX) = answer;
    (void)s;
}
static void *other(void *x) {
    return (void *)(long)(syscall(SYS_getppid) > 0 && !hits) + (long)x * 0;
}
static int set(long mode, void *off, long len, volatile char *sel) {
    return prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, off, len, sel) ? errno : 0;
}
static void dies(const char *what, char value, int action, volatile char *selector) {
    fflush(stdout);
    pid_t k = fork();
    if (!k) {
        if (action == 2) {
            sigset_t s;
            sigemptyset(&s);
            sigaddset(&s, SIGSYS);
            sigprocmask(SIG_BLOCK, &s, 0);
        } else if (action == 1) signal(SIGSYS, SIG_IGN);
        if (set(1, 0, 0, selector)) _exit(9);
        if (selector == &block) block = value;
        syscall(SYS_getppid);
        block = 0;
        _exit(3);
    }
    report_child(what, k);
}
int main(void) {
    struct rlimit none = {0, 0}; setrlimit(RLIMIT_CORE, &none); on(SIGSYS, h, 0);
    printf("%d %d %d %d %d\n", set(7, 0, 0, 0), set(0, 0, 5, 0), set(1, (void *)-8, 100, 0),
           set(1, 0, 0, (char *)-4096), set(1, (void *)4096, 0, 0));
    CHECK(set(1, 0, 0, &block) == 0); SAME(at(SYS_getpid, 0, 0, 0), getpid()); SAME(hits, 0);
    for (int i = 0; i < 100; i++) {
        answer = i == 50 ? 4711 : 0;
        block = 1;
        long r = at(SYS_getppid, 1, 2, 3);
        SAME(r, answer ? answer : SYS_getppid);
        SAME(hits, i + 1);
        SAME(code, 2);
        SAME(number, SYS_getppid);
        SAME(arch, 0xc000003e);
        SAME(same_ip, 1);
        SAME(rax, SYS_getppid);
    }
    block = 1; SAME(at(70000, 0, 0, 0), 70000); SAME(number, 70000); SAME(hits, 101);
    block = 1;
    SAME(at(SYS_mmap, 0, 4096, 3), SYS_mmap);
    SAME(hits, 102); // one that the VM handles itself
    hits = 0;
    pthread_t t;
    void *r;
    block = 0;
    pthread_create(&t, 0, other, 0);
    pthread_join(t, &r);
    SAME(r, 1);
    struct timespec short_ = {0, 1000000};
    SAME(nanosleep(&short_, 0), 0);
    int p[2];
    CHECK(pipe(p) == 0);
    char c = 'x';
    SAME(write(p[1], &c, 1), 1);
    SAME(read(p[0], &c, 1), 1);
    pid_t k = fork();
    if (!k) {
        block = 1;
        _exit(syscall(SYS_getppid) > 0 && !hits ? 0 : 1);
    }
    report_child("child", k);
    SAME(set(1, (void *)4096, 0x7fffffff0000, &block), 0);
    block = 1;
    CHECK(syscall(SYS_getppid) > 0);
    SAME(hits, 0);
    block = 0; // all of it exempt
    dies("default", 1, 0, 0);
    dies("ignored", 1, 1, &block);
    dies("blocked", 1, 2, &block);
    dies("nonsense", 5, 0, &block);
    dies("bad byte", 0, 0, (char *)16);
    SAME(set(0, 0, 0, 0), 0);
    block = 1;
    CHECK(at(SYS_getppid, 0, 0, 0) > 0);
    SAME(hits, 0);
    answer = 99;
    struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | 77),
                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog q = {4, f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &q) == 0);
    SAME(at(SYS_getppid, 0, 0, 0), 99);
    SAME(hits, 1);
    SAME(code, 1);
    SAME(number, SYS_getppid);
    SAME(same_ip, 1);
    SAME(rax, SYS_getppid);
    FINISH();
}
