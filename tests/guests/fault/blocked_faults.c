// Signals with the numbers of faults, sent by others and blocked: pending like any other,
// waited for, let through by sigsuspend with their information; and sent to new threads.
#include "guest.h"
#include <pthread.h>
#include <semaphore.h>
static volatile int hits, code, value, in;
static int numbers[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV};
static void h(int s, siginfo_t *i, void *x) {
    hits++;
    code = i->si_code;
    value = i->si_value.sival_int;
    in = s;
    (void)x;
}
static int pending(int s) { sigset_t p; sigpending(&p); return sigismember(&p, s); }
static void *waiter(void *sem) { SAME(sem_wait(sem), 0); return 0; }
int main(void) {
    for (int n = 0; n < 5; n++) {
        int s = numbers[n];
        on(s, h, SA_RESTART);
        sigset_t one, old, none;
        sigemptyset(&one);
        sigaddset(&one, s);
        sigemptyset(&none);
        sigprocmask(SIG_BLOCK, &one, &old);
        hits = 0;
        SAME(pending(s), 0);
        union sigval v = {.sival_int = 40 + n};
        sigqueue(getpid(), s, v);
        SAME(pending(s), 1);
        v.sival_int = 99;
        sigqueue(getpid(), s, v);
        SAME(hits, 0);
        pid_t k = fork();
        if (!k) {
            SAME(pending(s), 0);
            _exit(failures);
        }
        int st;
        waitpid(k, &st, 0);
        SAME(st, 0);
        siginfo_t info;
        struct timespec zero = {0, 0};
        SAME(sigtimedwait(&one, &info, &zero), s);
        SAME(info.si_code, SI_QUEUE);
        SAME(info.si_value.sival_int, 40 + n);
        SAME(pending(s), 0);
        errno = 0;
        SAME(sigtimedwait(&one, 0, &zero), -1);
        SAME(errno, EAGAIN);
        v.sival_int = 7;
        sigqueue(getpid(), s, v);
        SAME(sigsuspend(&none), -1);
        SAME(hits, 1);
        SAME(in, s);
        SAME(code, SI_QUEUE);
        SAME(value, 7);
        SAME(pending(s), 0);
        v.sival_int = 8;
        sigqueue(getpid(), s, v);
        SAME(hits, 1);
        sigprocmask(SIG_SETMASK, &old, 0);
        SAME(hits, 2);
        SAME(value, 8);
        raise(s);
        SAME(hits, 3);
        SAME(code, SI_TKILL);
    }
    for (int i = 0; i < 200; i++) {
        hits = 0;
        sem_t sem;
        sem_init(&sem, 0, 0);
        pthread_t t;
        pthread_create(&t, 0, waiter, &sem);
        pthread_kill(t, numbers[i % 5]);
        while (!hits) sched_yield();
        sem_post(&sem);
        pthread_join(t, 0);
        SAME(hits, 1);
    }
    FINISH();
}
