// clone3 with CLONE_CLEAR_SIGHAND, as newer C libraries spawn: in the child what the parent
// handles is at its default, what it ignores stays ignored, and a signal of no consequence
// does not interrupt a wait; with the parent's memory and without. Bad requests fail.
//@ variants: pie static
#include "guest.h"
#include <poll.h>

#define CLEAR 0x100000000ull
#define SHARED (0x100 | 0x4000 | CLEAR) // CLONE_VM, CLONE_VFORK

struct request {
    u64 flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, tids, tids_size,
        cgroup;
};

static void handler(int signal) { printf("handled %d\n", signal); }

// Inline: a child with its parent's memory must not return on the parent's stack.
__attribute__((always_inline)) static inline long clone3(struct request *request) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(435), "D"(request), "S"(sizeof *request)
                     : "rcx", "r11", "memory");
    return result;
}

static void dispositions(void) {
    for (int signal = 1; signal < 20; signal++) {
        struct sigaction now;
        sigaction(signal, 0, &now);
        if (now.sa_handler != SIG_DFL || now.sa_flags)
            printf(" %d:%d", signal, now.sa_handler == SIG_IGN);
    }
    printf("\n");
    fflush(stdout);
}

static void child(int which) {
    dispositions();
    switch (which) {
    case 0: kill(getpid(), SIGUSR1); break;
    case 1: *(volatile int *)8 = 1; break;
    case 2:
        kill(getpid(), SIGCHLD); // not even noticed
        kill(getpid(), SIGWINCH);
        _exit(poll(0, 0, 30) ? errno : 40);
    default: execl("/bin/sh", "sh", "-c", "kill -USR2 $$; kill -USR1 $$", (char *)0);
    }
    _exit(1);
}

static char stack[65536];

static void spawn(u64 flags, int which) {
    struct request request = {.flags = flags, .exit_signal = SIGCHLD};
    fflush(stdout);
    long pid = clone3(&request);
    if (pid == 0) child(which);
    int status;
    waitpid(pid, &status, 0);
    printf("%llx, %d: %x\n", (unsigned long long)flags, which, status & ~0x80);
}

static void refused(const char *what, struct request request) {
    long result = clone3(&request);
    if (result == 0) _exit(0);
    printf("%s: %ld %d\n", what, result < 0 ? -1l : 1l, result < 0 ? (int)-result : 0);
}

int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    int handled[] = {SIGUSR1, SIGSEGV, SIGCHLD, SIGWINCH, SIGTERM};
    for (int i = 0; i < 5; i++) sigaction(handled[i], &action, 0);
    signal(SIGUSR2, SIG_IGN);
    for (int which = 0; which < 4; which++) spawn(CLEAR, which), spawn(SHARED, which);
    refused("with CLONE_SIGHAND", (struct request){.flags = CLEAR | 0x800 | 0x100});
    refused("stack without size", (struct request){.flags = SHARED, .stack = (u64)stack});
    refused("size without stack", (struct request){.stack_size = 4096});
    refused("signal number", (struct request){.exit_signal = 65});
    kill(getpid(), SIGUSR1);
    return 0;
}
