// SA_RESETHAND resets before the handler runs, SA_NODEFER lets the same signal nest, and
// sigaction gives back exactly what was set.
#include "guest.h"
static int depth;
static void once(int s, siginfo_t *i, void *c) {
    struct sigaction now;
    sigaction(s, 0, &now);
    printf("once, now default %d\n", now.sa_handler == SIG_DFL);
}
static void nest(int s, siginfo_t *i, void *c) {
    printf("depth %d\n", ++depth);
    if (depth < 5) raise(s);
    depth--;
}
int main(void) {
    on(SIGUSR1, once, SA_RESETHAND); raise(SIGUSR1);
    on(SIGUSR2, nest, SA_NODEFER); raise(SIGUSR2);
    for (int s = 1; s < 65; s++) {
        struct sigaction set = {.sa_sigaction = nest,
                                .sa_flags = SA_SIGINFO | (s % 2 ? SA_RESTART : SA_ONSTACK) |
                                            (s % 3 ? 0 : SA_NOCLDSTOP)},
                         got;
        sigaddset(&set.sa_mask, s % 31 + 1);
        struct sigaction was;
        sigaction(s, 0, &was);
        int r = sigaction(s, &set, 0);
        memset(&got, 0xee, sizeof got);
        int q = sigaction(s, 0, &got);
        printf("%d %d %d", s, r, q);
        if (!r)
            printf(" %x %d %d", got.sa_flags, got.sa_sigaction == nest,
                   !memcmp(&got.sa_mask, &set.sa_mask, 8)),
                sigaction(s, &was, 0);
        puts("");
    }
    struct sigaction dfl = {.sa_handler = SIG_DFL}; sigaction(SIGUSR1, &dfl, 0);
    pid_t k = fork(); if (!k) { raise(SIGUSR1); _exit(0); } report_child("default again", k);
    FINISH();
}
