// close_range over all descriptors, a loop of close, and dup2 over many numbers: the
// program gets what it asks for, and new code still runs afterwards.
//@ variants: pie static
#include "guest.h"
#include <sys/resource.h>
static __attribute__((noinline)) int fresh(int a) { return a * 5 + 1; }
int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    struct rlimit limit = {1024, 4096}; setrlimit(RLIMIT_NOFILE, &limit);
    SAME(syscall(SYS_close_range, 3, ~0u, 0), 0);
    SAME(fresh(1), 6);
    SAME(open("/dev/null", O_RDONLY), 3);
    double d = strtod("1.5e3", 0);
    SAME(d, 1500);
    for (int fd = 3; fd < 1024; fd++) close(fd); SAME(open("/dev/null", O_RDONLY), 3);
    for (int fd = 4; fd < 1024; fd++) SAME(dup2(3, fd), fd);
    SAME(open("/dev/null", O_RDONLY), -1);
    SAME(errno, EMFILE);
    char *list = getenv("PATH");
    CHECK(list != 0);
    struct tm tm;
    time_t t = 0;
    gmtime_r(&t, &tm);
    SAME(tm.tm_year, 70);
    pid_t k = fork();
    if (!k) {
        execl("/bin/echo", "echo", "with all descriptors used", NULL);
        _exit(1);
    }
    report_child("echo", k);
    for (int fd = 3; fd < 1024; fd++) SAME(close(fd), 0); FINISH();
}
