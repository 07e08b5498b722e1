// Shared by guests that have used up what they may have: a program goes on as natively.
#ifndef WANT_H
#define WANT_H
#include "../guest.h"

static volatile int hits;
static void handler(int s, siginfo_t *i, void *c) { hits++; }
static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

// Code that has not run before, a signal, children.
static void go_on(void) {
    int numbers[100], status;
    for (int k = 0; k < 100; k++) numbers[k] = k * 7919 % 101;
    qsort(numbers, 100, sizeof *numbers, ascending);
    printf("%d %d %s %f\n", numbers[0], numbers[99], strsignal(5), strtod("3.25", 0));
    on(SIGUSR1, handler, 0);
    raise(SIGUSR1);
    SAME(hits, 1);
    for (int k = 0; k < 3; k++) {
        if (!fork()) {
            printf("child %d: %g\n", k, atof("2.5") * numbers[k]);
            _exit(k);
        }
        wait(&status);
        SAME(status, k << 8);
    }
}
#endif
