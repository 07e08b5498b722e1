// Signals between a call and the callee's first push. The word below the stack is what an earlier
// push has left there, or 0, as behind calls: no address of the translation.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

typedef unsigned long u64;

extern void calls(u64 times);
extern char callee[], pushes[];
__asm__(".globl calls, callee, pushes\n"
        "calls: push %rbx; mov %rdi, %rbx\n"
        "1: call callee; dec %rbx; jnz 1b\n"
        "pop %rbx; ret\n"
        "callee: endbr64\n"
        "pushes: push $77; pop %rax; ret\n");

static volatile sig_atomic_t got, strange, all_sent;

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    u64 at = regs[REG_RIP];
    if (at == (u64)callee || at == (u64)pushes) {
        u64 below = *(u64 *)(regs[REG_RSP] - 8);
        strange += below != 77 && below != 0;
    }
    got++;
}

// Where other programs want the processors, each signal waits for its turn: seconds of them do.
static void *sender(void *main_thread) {
    for (time_t end = time(0) + 4; got < 20000 && time(0) < end;) {
        int before = got;
        pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
        while (got == before)
            ;
    }
    all_sent = 1;
    return 0;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, 0);
    pthread_t self = pthread_self(), thread;
    if (pthread_create(&thread, 0, sender, &self))
        return 1;
    while (!all_sent)
        calls(1000);
    pthread_join(thread, 0);
    printf("signals: %s, strange words: %d\n", got ? "some" : "none", (int)strange);
    return 0;
}
