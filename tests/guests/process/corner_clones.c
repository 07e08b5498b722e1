// clone and clone3 with corner values: the same result, and who begins ends. A child leaves at
// once, without memory, so it may have any stack.
//@ cflags: -fno-stack-protector
#include "guest.h"
#include <grp.h>
#include <linux/sched.h>

enum { ARGS = 5, WORDS = 11, CLONES = 4000 };
#define GOOD 0x20000000ul
static const u64 VALUES[] = {0,
                             0,
                             0,
                             1,
                             4095,
                             4096,
                             -1ul,
                             -4096ul,
                             1ul << 63,
                             1ul << 47,
                             (1ul << 47) - 4096,
                             GOOD,
                             GOOD + 4096,
                             GOOD + 8191};
static const u64 FLAGS[] = {
    0,
    SIGCHLD,
    64,
    65,
    255,
    CLONE_VM,
    CLONE_VM | SIGCHLD,
    CLONE_VM | CLONE_VFORK,
    CLONE_VFORK,
    CLONE_SIGHAND,
    CLONE_VM | CLONE_SIGHAND,
    CLONE_THREAD,
    CLONE_SIGHAND | CLONE_THREAD,
    CLONE_VM | CLONE_THREAD,
    CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
    CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | SIGCHLD,
    CLONE_FS | CLONE_NEWNS,
    CLONE_PARENT,
    CLONE_PARENT | SIGCHLD,
    CLONE_PIDFD,
    CLONE_PIDFD | CLONE_VM,
    CLONE_PIDFD | CLONE_DETACHED,
    CLONE_PARENT_SETTID,
    CLONE_CHILD_SETTID,
    CLONE_CHILD_CLEARTID,
    CLONE_VM | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
    CLONE_SETTLS,
    CLONE_VM | CLONE_SETTLS,
    CLONE_UNTRACED | CLONE_SYSVSEM | CLONE_IO,
    CLONE_NEWUSER | CLONE_FS,
    1ul << 32,
    1ul << 33,
    1ul << 34,
    (1ul << 32) | CLONE_SIGHAND | CLONE_VM,
    1ul << 63,
    -1ul,
};
#define COUNT(of) (sizeof of / sizeof *of)

// The child is out before the next instruction but one.
static long make(long nr, const u64 *a) {
    register long result asm("rax") = nr;
    register u64 r10 asm("r10") = a[3], r8 asm("r8") = a[4];
    asm volatile("syscall; test %%rax, %%rax; jnz 1f; mov $60, %%eax; mov $7, %%edi; syscall; ud2; "
                 "1:"
                 : "+r"(result)
                 : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8)
                 : "rcx", "r11", "memory", "cc");
    return result;
}

static u64 seed = 1;
static u64 any(const u64 *of, int count) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return of[(seed >> 40) % count];
}

int main(int count, char **words) {
    u64 sum = 14695981039346656037ul, shown = count > 1;
    mmap((void *)GOOD, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
         -1, 0);
    if (!getuid() && (setgroups(0, 0) || setgid(65534) || setuid(65534))) return 95;
    // Children tell their end by any signal, and may be those of the parent.
    sigset_t all;
    sigfillset(&all), sigprocmask(SIG_BLOCK, &all, 0);
    pid_t parent = fork();
    if (parent) {
        int status = 0;
        while (waitpid(parent, &status, 0) != parent) {}
        return WEXITSTATUS(status);
    }
    for (int n = 0; n < CLONES; n++) {
        u64 args[WORDS], size = 0, three = n % 2;
        for (int k = 0; k < WORDS; k++) args[k] = any(VALUES, COUNT(VALUES));
        args[0] = any(FLAGS, COUNT(FLAGS));
        if (n & 2) args[0] |= any(FLAGS, COUNT(FLAGS));
        // Namespaces of others may or may not be allowed.
        if (args[0] != -1ul) args[0] &= ~(u64)(CLONE_NEWUSER | CLONE_NEWPID);
        if (three) {
            u64 sizes[] = {64, 80, 88, 88, 88, 4096, 63, 0, -1ul, 4097}, none[] = {0, 0, 0, 1, 64};
            args[0] &= n & 4 ? -1ul : ~0xfful;
            if (n & 8) args[8] = args[9] = 0;
            if (n & 16) args[4] = any(none, 5);
            size = any(sizes, 10);
            memset((void *)GOOD, 0, 4096);
            memcpy((void *)GOOD, args, sizeof args);
        }
        u64 call[] = {GOOD, size, 0, 0, 0};
        if (shown) printf("%d %lx\n", n, args[0]), fflush(stdout);
        long result = make(three ? SYS_clone3 : SYS_clone, three ? call : args);
        long word = result > 0 ? 1 : result;
        int status = 0,
            waits = result > 0 && !(args[0] & (CLONE_THREAD | CLONE_PARENT)) && args[0] != -1ul;
        if (waits && waitpid(result, &status, __WALL) == result) word = 0x10000 + status;
        for (int fd = 3; fd < 8; fd++) close(fd);
        if (shown) { fflush(stdout);
            printf("%d(%lx", three ? 3 : 1, args[0]);
            for (int k = 1; k < WORDS; k++) printf(", %lx", args[k]);
            printf("; %lx) = %lx\n", size, word);
        }
        sum = (sum ^ word) * 1099511628211ul;
    }
    printf("%lx\n", sum);
    return 0;
}
