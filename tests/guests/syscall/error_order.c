// Calls that the VM handles itself check their arguments in the kernel's order: the size of
// a mask before its address, what can be told of a structure before all of it is read.
//@ variants: pie static
#include "guest.h"
#include <poll.h>
#include <sys/epoll.h>

#define BAD ((void *)8)

static char *page_end(void) {
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    return pages + 4096;
}

static int error(long result) { return result == -1 ? errno : 0; }

static void waits(void) {
    struct timespec wrong = {0, -1}, none = {0, 0};
    void *pair[2] = {BAD, (void *)8}, *short_pair[2] = {BAD, (void *)4};
    SAME(error(syscall(SYS_rt_sigsuspend, BAD, 4)), EINVAL);
    SAME(error(syscall(SYS_rt_sigsuspend, BAD, 8)), EFAULT);
    SAME(error(syscall(SYS_ppoll, 0, 0, &wrong, BAD, 8)), EINVAL);
    SAME(error(syscall(SYS_ppoll, 0, 0, &none, BAD, 4)), EINVAL);
    SAME(error(syscall(SYS_ppoll, 0, 0, &none, BAD, 8)), EFAULT);
    SAME(error(syscall(SYS_pselect6, 0, 0, 0, 0, &wrong, pair)), EINVAL);
    SAME(error(syscall(SYS_pselect6, 0, 0, 0, 0, &none, pair)), EFAULT);
    SAME(error(syscall(SYS_pselect6, 0, 0, 0, 0, &none, short_pair)), EINVAL);
    SAME(error(syscall(SYS_pselect6, 0, 0, 0, 0, &none, BAD)), EFAULT);
    SAME(error(syscall(SYS_epoll_pwait, -1, 0, 1, 0, BAD, 8)), EFAULT);
    SAME(error(syscall(SYS_epoll_pwait, -1, 0, 1, 0, BAD, 4)), EINVAL);
}

static void actions(void) {
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } new = {SIG_IGN, 0x12345678ff, 0, ~0ul}, old;
    SAME(error(syscall(SYS_rt_sigaction, 1000, BAD, 0, 8)), EFAULT);
    SAME(error(syscall(SYS_rt_sigaction, 1000, BAD, 0, 4)), EINVAL);
    SAME(error(syscall(SYS_rt_sigaction, SIGKILL, &new, 0, 8)), EINVAL);
    SAME(error(syscall(SYS_rt_sigaction, SIGKILL, 0, &old, 8)), 0);
    SAME(error(syscall(SYS_rt_sigaction, SIGUSR1, &new, BAD, 8)), EFAULT);
    SAME(error(syscall(SYS_rt_sigaction, SIGUSR1, 0, &old, 8)), 0);
    CHECK(old.handler == SIG_IGN);
    printf("%lx %lx\n", old.flags, old.mask);
}

static void pending(void) {
    unsigned char set[9];
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    raise(SIGSEGV);
    raise(SIGWINCH);
    for (int size = 0; size < 10; size++) {
        memset(set, 0x55, sizeof set);
        SAME(error(syscall(SYS_rt_sigpending, set, size)), size > 8 ? EINVAL : 0);
        for (unsigned i = 0; i < sizeof set; i++)
            printf("%02x%c", set[i], i == 8 ? '\n' : ' ');
    }
    SAME(error(syscall(SYS_rt_sigpending, BAD, 8)), EFAULT);
}

static void clones(void) {
    char *end = page_end();
    unsigned long *word = (void *)(end - 96);
    memset(word, 0, 96);
    word[0] = ~0ul;
    SAME(error(syscall(SYS_clone3, word, 8192)), E2BIG);
    SAME(error(syscall(SYS_clone3, word, 63)), EINVAL);
    SAME(error(syscall(SYS_clone3, word, 4096)), EFAULT);
    SAME(error(syscall(SYS_clone3, word, 96)), EINVAL);
    word[11] = 1;
    SAME(error(syscall(SYS_clone3, word, 4096)), E2BIG);
    SAME(error(syscall(SYS_clone3, word, 96)), E2BIG);
    SAME(error(syscall(SYS_clone3, BAD, 64)), EFAULT);
}

int main(void) {
    waits();
    actions();
    clones();
    pending();
    FINISH();
}
