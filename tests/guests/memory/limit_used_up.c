// A program that has used up what its limit of memory allows goes on: code it has not run
// before, signals, a fork; and so does one that was started under the limit.
#include "guest.h"
#include <sys/resource.h>
static volatile int hits;
static void handler(int s, siginfo_t *i, void *c) { hits++; }
static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void use_up(void) {
    for (size_t len = 1 << 26; len >= 4096; len /= 2)
        while (mmap(0, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {}
}
int main(int argc, char **argv) {
    char line[64];
    int numbers[100], status;
    struct rlimit limit = {200 << 20, RLIM_INFINITY};
    setvbuf(stdout, line, _IOLBF, sizeof line);
    if (argc == 1) SAME(setrlimit(RLIMIT_AS, &limit), 0);
    use_up();
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
    if (failures || argc > 1) FINISH();
    execl("/proc/self/exe", argv[0], "again", NULL);
    return 1;
}
