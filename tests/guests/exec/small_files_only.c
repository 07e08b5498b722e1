// RLIMIT_FSIZE: a process that may write small files only runs, executes others, and is
// told of its own writes only.
#include "guest.h"
#include <sys/resource.h>
static volatile int hits; static void h(int s) { hits++; (void)s; }
int main(int argc, char **argv) {
    if (argc > 1) { puts("executed"); return 5; }
    signal(SIGXFSZ, h);
    struct rlimit none = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &none);
    char name[] = "/tmp/small_XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0);
    SAME(pwrite(fd, "x", 1, 2000), -1);
    SAME(errno, EFBIG);
    SAME(hits, 1);
    unlink(name);
    pid_t k = fork();
    if (!k) {
        signal(SIGXFSZ, SIG_DFL);
        execl("/proc/self/exe", "me", "again", (char *)0);
        _exit(9);
    }
    report_child("exec", k);
    k = fork();
    if (!k) {
        char t[99];
        sprintf(t, "%g", 1.5);
        _exit(hits);
    }
    report_child("fork", k);
    SAME(hits, 1);
    FINISH();
}
