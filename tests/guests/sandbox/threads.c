// Filters and threads: one for all threads at once (TSYNC), after which each runs new
// code and one more thread is made without memory of the C library's; and one thread in
// strict mode beside others that go on as before.
//@ variants: pie static
#include "sandbox.h"
#include <pthread.h>
#include <linux/futex.h>
ALL(F100)
static u64 (*const functions[])(u64) = {ALL(N100)};
static volatile int ready, go, done;

static u64 run_all(u64 x) {
    for (unsigned n = 0; n < sizeof functions / sizeof *functions; n++) x = functions[n](x);
    return x;
}

static void *worker(void *result) {
    __sync_fetch_and_add(&ready, 1);
    while (!go) asm volatile("pause");
    *(u64 *)result = run_all((u64)3);
    __sync_fetch_and_add(&done, 1);
    for (;;) asm volatile("pause");
}

static int bare(void *result) {
    *(u64 *)result = run_all(3);
    __sync_fetch_and_add(&done, 1);
    syscall(SYS_exit, 0);
    return 0;
}

static void together(void) {
    static u64 results[5];
    static _Alignas(16) u8 stack[1 << 16];
    for (int n = 0; n < 4; n++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, worker, &results[n])) leave(96);
    }
    while (ready < 4) asm volatile("pause");
    static const int allowed[] = {SYS_write, SYS_exit_group,  SYS_exit,
                                  SYS_clone, SYS_sigaltstack, -1};
    if (confine(allowed, SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC)) leave(98);
    go = 1;
    if (clone(bare, stack + sizeof stack,
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
              &results[4]) < 0)
        leave(95);
    while (done < 5) asm volatile("pause");
    for (int n = 0; n < 5; n++) say_number("result ", results[n]);
    leave(7);
}

static void *confined(void *unused) {
    (void)unused;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) leave(98);
    go = 1;
    u64 x = run_all(5);
    for (int n = 0; n < 200; n++) x = run_all(x);
    say_number("strict ", x);
    done = 1;
    syscall(SYS_exit, 0);
    return 0;
}

static void *free_one(void *unused) {
    u8 *code = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    emit_return(code, 77);
    u32 value = ((function)code)();
    munmap(code, 4096);
    return (char *)unused + value;
}

static void beside(void) {
    pthread_t one;
    go = done = 0;
    if (pthread_create(&one, 0, confined, 0)) leave(96);
    while (!go) asm volatile("pause");
    u64 sum = 0;
    for (int n = 0; n < 50; n++) {
        pthread_t other;
        void *result;
        if (pthread_create(&other, 0, free_one, (void *)(long)n)) leave(94);
        pthread_join(other, &result);
        sum += (u64)result;
    }
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR1), pthread_sigmask(SIG_BLOCK, &set, 0);
    raise(SIGUSR1);
    int signal = 0;
    sigwait(&set, &signal);
    while (!done) asm volatile("pause");
    say_number("beside ", sum + signal);
    leave(8);
}

int main(void) {
    no_core();
    for (int n = 0; n < 2; n++) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) n ? beside() : together();
        report_child("child", child);
    }
    FINISH();
}
