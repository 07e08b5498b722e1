// Data through a pipe under a rain of signals without SA_RESTART: every byte arrives once
// and every failure is EINTR (a lost restart window would hang or lose data).
#include "guest.h"
static volatile int hits; static void handler(int s, siginfo_t *i, void *c) { hits++; }
int main(void) {
    int p[2]; pipe(p); pid_t k = fork(); on(SIGALRM, handler, 0);
    struct itimerval t = {{0, 200}, {0, 200}}; setitimer(ITIMER_REAL, &t, 0); u64 sum = 0; u32 v;
    if (!k) {
        close(p[0]);
        for (v = 0; v < 20000; v++) {
            while (write(p[1], &v, 4) != 4)
                if (errno != EINTR) _exit(1);
        }
        _exit(0);
    }
    close(p[1]);
    int n, eintr = 0;
    while ((n = read(p[0], &v, 4)) != 0) {
        if (n < 0) {
            if (errno != EINTR) return 1;
            eintr++;
        } else {
            SAME(n, 4);
            sum += v;
        }
    }
    SAME(sum, 19999L * 10000);
    int st;
    while (waitpid(k, &st, 0) < 0) SAME(errno, EINTR);
    SAME(st, 0);
    t = (struct itimerval){{0}}; setitimer(ITIMER_REAL, &t, 0);
    FINISH();
}
