// Signals between what begins a callee, or ends a return, and the program's next write to the
// registers that this has taken: the handler finds the program's values in all of them.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>

typedef unsigned long u64;

extern void calls(u64 times);
extern char callee[], callee_sets[], behind[], behind_sets[], behind_set[];
__asm__(".globl calls, callee, callee_sets, behind, behind_sets, behind_set\n"
        "calls: push %rbx; mov %rdi, %rbx\n"
        "1: mov $0x1111, %eax; mov $0x2222, %ecx; mov $0x3333, %edx\n"
        "call callee\n"
        "behind: nop; lea (%rbx), %rsi; nop; nop\n"
        "behind_sets: mov $2, %ecx; mov $3, %edx\n"
        "behind_set: dec %rbx; jnz 1b\n"
        "pop %rbx; ret\n"
        "callee: push %rbx; nop; lea (%rbx), %rsi; nop\n"
        "callee_sets: mov $1, %eax; pop %rbx; ret\n");

static volatile sig_atomic_t got, strange, all_sent;

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    char *at = (char *)regs[REG_RIP];
    if (at >= callee && at <= callee_sets)
        strange += regs[REG_RAX] != 0x1111 || regs[REG_RCX] != 0x2222;
    if (at >= behind && at <= behind_sets)
        strange += regs[REG_RAX] != 1 || regs[REG_RCX] != 0x2222 || regs[REG_RDX] != 0x3333;
    if (at == behind_set)
        strange += regs[REG_RCX] != 2 || regs[REG_RDX] != 3;
    got++;
}

// Where other programs want the processors, each signal waits for its turn: seconds of them do.
static void *sender(void *main_thread) {
    for (time_t end = time(0) + 3; got < 20000 && time(0) < end;) {
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
    printf("signals: %s, strange registers: %d\n", got ? "some" : "none", (int)strange);
    return 0;
}
