// A program that has as many mappings as it may have goes on: code it has not run before,
// signals, threads that need none, a fork.
#include "guest.h"
static volatile int hits;
static void handler(int s, siginfo_t *i, void *c) { hits++; }
static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) {
    char line[64];
    int n = 0, numbers[100], status;
    setvbuf(stdout, line, _IOLBF, sizeof line);
    while (mmap(0, 4096, n % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) n++;
    SAME(errno, ENOMEM);
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
    FINISH();
}
