// PR_SET_MDWE: a process that denies itself executable memory that was written to, before
// and over an exec, with code that it meets for the first time after that.
#include "guest.h"
#include <math.h>
#include <sys/prctl.h>
static __attribute__((noinline)) int later(int n) {
    char t[99];
    int s = 0;
    for (int i = 0; i < n; i++) s += snprintf(t, 99, "%d %x %g %s", i, i, i / 3.0, strerror(i));
    return s;
}
int main(int argc, char **argv) {
    if (argc == 1) prctl(65, 1, 0, 0, 0);
    printf("%d %d\n", mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
           later(60));
    fflush(stdout);
    if (argc == 1) {
        pid_t k = fork();
        if (!k) {
            execl("/proc/self/exe", "me", "again", (char *)0);
            _exit(9);
        }
        report_child("again", k);
        k = fork();
        if (!k) _exit(later(9) & 63);
        report_child("fork", k);
    }
    FINISH();
}
