// Threads that begin when others have just ended: nothing of those is left, whatever memory they
// have used; also in children of a fork, which are left out if there is an argument.
//@ libs: -lpthread
//@ variants: pie static
#include "guest.h"
#include <asm/prctl.h>
#include <pthread.h>
enum { THREADS = 60, WORK = 20000 };
static _Thread_local volatile int handled;
static void on_signal(int signal) { handled = signal; }
static unsigned long gs(void) {
    unsigned long base = 1;
    syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    return base;
}
// The way back from each level of it must be this thread's own.
static int deep(volatile int n) { return n ? deep(n - 1) + 1 : 0; }
static void *body(void *number) {
    static char stacks[THREADS][16384], word;
    stack_t stack = {.ss_sp = stacks[(long)number], .ss_size = sizeof stacks[0]}, old;
    sigset_t mask, usr2;
    sigaltstack(NULL, &old);
    CHECK(old.ss_flags == SS_DISABLE); SAME(gs(), 0);
    sigaltstack(&stack, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHECK(!sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1));
    sigemptyset(&usr2); sigaddset(&usr2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &usr2, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    pthread_kill(pthread_self(), SIGUSR2); // stays pending, and ends with the thread
    SAME(handled, SIGUSR1);
    syscall(SYS_arch_prctl, ARCH_SET_GS, &word); CHECK(gs() == (unsigned long)&word);
    for (volatile int i = 0; i < WORK; i++) {}
    SAME(deep(50 + (long)number), 50 + (long)number);
    return number;
}
static void one(long number) {
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, body, (void *)number) == 0);
    pthread_join(thread, &result);
    SAME(result, number);
}
int main(int count, char **arguments) {
    (void)arguments;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL); sigaction(SIGUSR2, &action, NULL);
    for (long number = 0; number < THREADS; number++) {
        one(number);
        if (number % 20 != 10 || count > 1) continue;
        int status;
        pid_t child = fork();
        if (!child) { one(1); one(2); _exit(failures); }
        waitpid(child, &status, 0);
        SAME(status, 0);
    }
    SAME(handled, 0);
    FINISH();
}
