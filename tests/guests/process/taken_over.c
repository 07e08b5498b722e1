// Everything that `ppin attach` and `ppin detach` must carry over: system calls that wait, with and
// without an end, vector registers and their rounding, gs, a handler on a stack of its own, masks
// and blocked signals, thread-local storage, generated code. Each line of input is answered
// meanwhile. (`tests/e2e/attach.rs` runs it.)
//@ variants: pie
#include "guest.h"
#include <asm/prctl.h>
#include <pthread.h>
#include <sys/epoll.h>

static volatile int over;
static __thread u64 mine;
static int pipe_ends[2];

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

// A wait for a time lasts that long.
static void *sleeper(void *nothing) {
    while (!over) {
        double begun = seconds();
        struct timespec pause = {0, 100000000}, rest;
        SAME(nanosleep(&pause, &rest), 0);
        CHECK(seconds() - begun >= 0.1);
    }
    return nothing;
}

// A wait without an end is over when something has happened.
static void *poller(void *nothing) {
    int all = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(all, EPOLL_CTL_ADD, pipe_ends[0], &event);
    SAME(epoll_wait(all, &event, 1, -1), 1);
    SAME(event.events, EPOLLIN);
    return nothing;
}

static volatile int asked;
static void answer(int sig, siginfo_t *info, void *context) { asked++; }

// A mask that holds during a call is the old one behind it.
static void *suspended(void *nothing) {
    sigset_t blocked, before, after, other;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN);
    other = blocked;
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &blocked, 0);
    pthread_sigmask(SIG_SETMASK, 0, &before);
    SAME(sigsuspend(&other), -1);
    SAME(errno, EINTR);
    SAME(asked, 1);
    pthread_sigmask(SIG_SETMASK, 0, &after);
    CHECK(!memcmp(&before, &after, 8));
    return nothing;
}

// Sets vector registers, and adds with the rounding that is set; wrong ones are counted.
static u64 vectors(u64 seed) {
    u64 in[4] __attribute__((aligned(32))), out[8] __attribute__((aligned(32)));
    for (int i = 0; i < 4; i++) in[i] = seed * (i + 3);
    asm volatile("movaps (%0), %%xmm0; movaps 16(%0), %%xmm7\n"
                 "movaps (%0), %%xmm8; movaps 16(%0), %%xmm15\n"
                 "mov $20000, %%ecx\n"
                 "1: dec %%ecx; jnz 1b\n"
                 "movaps %%xmm0, (%1); movaps %%xmm7, 16(%1)\n"
                 "movaps %%xmm8, 32(%1); movaps %%xmm15, 48(%1)"
                 :
                 : "r"(in), "r"(out)
                 : "ecx", "xmm0", "xmm7", "xmm8", "xmm15", "cc", "memory");
    return memcmp(out, in, 32) || memcmp(out + 4, in, 32);
}

static void *computer(void *nothing) {
    u64 wrong = 0, base;
    u32 toward_zero = 0x7f80, rounding;
    asm volatile("ldmxcsr %0" ::"m"(toward_zero));
    static u64 here[2] = {0x1234567890abcdef, 0};
    syscall(SYS_arch_prctl, ARCH_SET_GS, here);
    for (mine = 1; !over; mine++) {
        wrong += vectors(mine);
        asm volatile("mov %%gs:0, %0" : "=r"(base));
        wrong += base != here[0];
        asm volatile("stmxcsr %0" : "=m"(rounding));
        wrong += (rounding & ~0x3f) != toward_zero;
    }
    syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    SAME(base, here);
    SAME(wrong, 0);
    CHECK(mine > 1);
    return nothing;
}

static stack_t own_stack;
static void handle(int sig, siginfo_t *info, void *context) {
    SAME(info->si_code, SI_TKILL);
    while (!over) {
        stack_t now;
        sigaltstack(0, &now);
        SAME(now.ss_flags, SS_ONSTACK);
        CHECK(now.ss_sp == own_stack.ss_sp);
        vectors(3);
    }
}

// A handler on a stack of its own, which was entered before.
static void *handled(void *nothing) {
    stack_t after;
    own_stack = (stack_t){.ss_sp = pages(16, PROT_READ | PROT_WRITE), .ss_size = 16 * 4096};
    sigaltstack(&own_stack, 0);
    on(SIGUSR1, handle, SA_ONSTACK);
    pthread_kill(pthread_self(), SIGUSR1);
    CHECK(over);
    sigaltstack(0, &after);
    SAME(after.ss_flags, 0);
    CHECK(after.ss_sp == own_stack.ss_sp);
    return nothing;
}

// Code that the program has made itself, and makes anew.
static void *maker(void *nothing) {
    u8 *code = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (u32 n = 0; !over; n++) {
        emit_return(code, n);
        for (int i = 0; i < 1000; i++) SAME(((function)code)(), n);
    }
    return nothing;
}

static void *waiter(void *nothing) {
    sigset_t one;
    int got = 0;
    sigemptyset(&one);
    sigaddset(&one, SIGRTMIN);
    SAME(sigwait(&one, &got), 0);
    SAME(got, SIGRTMIN);
    return nothing;
}

int main(void) {
    void *(*all[])(void *) = {sleeper, poller, suspended, computer, handled, maker, waiter};
    enum { COUNT = sizeof all / sizeof *all };
    pthread_t threads[COUNT];
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &blocked, 0);
    on(SIGUSR2, answer, 0);
    signal(SIGHUP, SIG_IGN);
    if (pipe(pipe_ends)) return 9;
    for (int i = 0; i < COUNT; i++) pthread_create(threads + i, 0, all[i], 0);
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        raise(SIGHUP);
        printf("got %s", line);
        fflush(stdout);
    }
    usleep(20000);
    over = 1;
    CHECK(write(pipe_ends[1], "x", 1) == 1);
    pthread_kill(threads[2], SIGUSR2);
    kill(getpid(), SIGRTMIN);
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], 0);
    FINISH();
}
