// Work under signals that another thread sends, each after the one before has arrived.
#ifndef UNDER_SIGNALS_H
#define UNDER_SIGNALS_H
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>

// The handler counts them, and what it finds that should not be.
static volatile sig_atomic_t got, strange;
static volatile sig_atomic_t all_sent;

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

static int under_signals(void (*handler)(int, siginfo_t *, void *), void (*work)(void)) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, 0);
    pthread_t self = pthread_self(), thread;
    if (pthread_create(&thread, 0, sender, &self))
        return 1;
    while (!all_sent)
        work();
    pthread_join(thread, 0);
    printf("signals: %s, strange: %d\n", got ? "some" : "none", (int)strange);
    return 0;
}
#endif
