// timer_create with a signal and a value, overruns, timer deletion; clock_nanosleep until
// an absolute time goes on after EINTR.
//@ libs: -lrt
#include "guest.h"
static volatile int hits;
static void simple(int s, siginfo_t *i, void *c) {
    if (i->si_code != SI_TIMER || i->si_value.sival_int != 77) failures++;
    hits++;
}
int main(void) {
    on(SIGRTMIN + 2, simple, 0);
    struct sigevent e = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2, .sigev_value = {77}};
    timer_t t;
    SAME(timer_create(CLOCK_MONOTONIC, &e, &t), 0);
    struct itimerspec every = {{0, 1000000}, {0, 1000000}}; timer_settime(t, 0, &every, 0);
    u64 w = 1; while (hits < 200) { w = w * 5 + 1; KEEP(w); }
    SAME(timer_delete(t), 0); int n = hits; usleep(5000); SAME(hits, n);
    SAME(timer_create(CLOCK_MONOTONIC, &e, &t), 0); timer_settime(t, 0, &every, 0);
    int interrupted = 0;
    while (interrupted <= 10) { // on a busy machine a sleep may be interrupted seldom
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50000000;
        if (until.tv_nsec > 999999999) until.tv_sec++, until.tv_nsec -= 1000000000;
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0) == EINTR) interrupted++;
        struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now);
        CHECK(now.tv_sec > until.tv_sec ||
              now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec);
    }
    timer_delete(t);
    FINISH();
}
