// A signal interrupts read, wait, nanosleep, poll and futex: with SA_RESTART read and wait
// go on, without they give EINTR; sleep and poll always give EINTR.
//@ variants: pie static
#include "guest.h"
#include <poll.h>
#include <linux/futex.h>
static volatile int hits; static int p[2];
static void handler(int s, siginfo_t *i, void *c) {
    hits++;
    if (hits % 2 == 0) write(p[1], "x", 1);
}
static void arm(void) {
    struct itimerval t = {{0, 20000}, {0, 20000}};
    setitimer(ITIMER_REAL, &t, 0);
}
static void disarm(void) { struct itimerval t = {{0}}; setitimer(ITIMER_REAL, &t, 0); }
int main(void) {
    char c; pipe(p);
    for (int restart = 0; restart < 2; restart++) {
        on(SIGALRM, handler, restart ? SA_RESTART : 0);
        hits = 0;
        arm();
        int n = read(p[0], &c, 1);
        disarm();
        printf("read %d %s\n", n, n < 0 ? strerror(errno) : "");
        hits = 0; pid_t k = fork(); if (!k) { usleep(70000); _exit(5); }
        arm();
        int st = 0;
        n = waitpid(k, &st, 0);
        disarm();
        printf("wait %d %s\n", n == k, n < 0 ? strerror(errno) : "");
        if (n < 0)
            while (waitpid(k, 0, 0) < 0) {}
        hits = 1;
        fcntl(p[0], F_SETFL, O_NONBLOCK);
        while (read(p[0], &c, 1) > 0) {}
        fcntl(p[0], F_SETFL, 0);
        struct timespec ts = {5, 0}, left; hits = -1000; int *never = (int *)calloc(1, 4);
        arm(); n = nanosleep(&ts, &left); disarm(); printf("nanosleep %d %d\n", n, left.tv_sec);
        struct pollfd f = {p[0], POLLIN};
        hits = 1; while (poll(&f, 1, 0) > 0) read(p[0], &c, 1);
        hits = -1001;
        arm();
        n = poll(&f, 1, 5000);
        disarm();
        printf("poll %d %s\n", n, n < 0 ? strerror(errno) : "");
        while (poll(&f, 1, 0) > 0) read(p[0], &c, 1);
        arm(); n = pause(); disarm(); printf("pause %d %s\n", n, strerror(errno));
        while (poll(&f, 1, 0) > 0) read(p[0], &c, 1);
    }
    FINISH();
}
