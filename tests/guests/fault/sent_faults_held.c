// Signals with the numbers of faults, sent by kill while blocked, are pending as others are:
// for the whole process, one behind the other, until ignored, and over an exec.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static const int NUMBERS[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
static sigset_t set;
static int sum;
static volatile int ready;
static int is_pending(int s) { sigset_t p; sigpending(&p); return sigismember(&p, s); }
static void handler(int s, siginfo_t *i, void *c) {
    SAME(i->si_code, SI_USER);
    SAME(i->si_pid, getpid());
    sum += s;
}
static void *waits(void *s) {
    siginfo_t i;
    ready = 1;
    SAME(sigwaitinfo(&set, &i), (long)s);
    SAME(i.si_code, SI_USER);
    return 0;
}
static void *takes(void *s) {
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, (long)s);
    ready = 1;
    sigprocmask(SIG_UNBLOCK, &mine, 0);
    while (!sum) usleep(100);
    return 0;
}
static void one(long s) {
    pthread_t t;
    sigset_t old;
    sigemptyset(&set), sigaddset(&set, s);
    sigprocmask(SIG_BLOCK, &set, &old);
    ready = 0, pthread_create(&t, 0, waits, (void *)s);
    while (!ready) usleep(100);
    usleep(20000), kill(getpid(), s), pthread_join(t, 0);
    SAME(is_pending(s), 0);
    on(s, handler, 0), sum = 0;
    pthread_create(&t, 0, takes, (void *)s);
    usleep(20000), kill(getpid(), s), pthread_join(t, 0);
    SAME(sum, s);
    SAME(is_pending(s), 0);
    kill(getpid(), s); SAME(is_pending(s), 1);
    signal(s, SIG_IGN); SAME(is_pending(s), 0);
    kill(getpid(), s); SAME(is_pending(s), 1);
    signal(s, SIG_DFL);
    siginfo_t i;
    SAME(sigwaitinfo(&set, &i), s);
    sigprocmask(SIG_SETMASK, &old, 0);
}
int main(int argc, char **argv) {
    sigemptyset(&set);
    for (int k = 0; k < 5; k++) sigaddset(&set, NUMBERS[k]);
    if (argc > 1) {
        for (int k = 0; k < 5; k++) SAME(is_pending(NUMBERS[k]), 1);
        if (failures) printf("over exec: %d\n", failures);
        for (int k = 0; k < 5; k++) on(NUMBERS[k], handler, 0);
        sigprocmask(SIG_UNBLOCK, &set, 0);
        SAME(sum, SIGSEGV + SIGBUS + SIGILL + SIGFPE + SIGTRAP);
        FINISH();
    }
    for (int k = 0; k < 5; k++) one(NUMBERS[k]);
    sigemptyset(&set);
    for (int k = 0; k < 5; k++) sigaddset(&set, NUMBERS[k]);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (int k = 0; k < 5; k++) kill(getpid(), NUMBERS[k]);
    if (failures) FINISH();
    execl("/proc/self/exe", argv[0], "again", NULL);
    return 1;
}
