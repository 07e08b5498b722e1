// An exec that fails leaves the program as it was, many times: missing, no permission,
// directory, bad pointers, too long; memory, descriptors and signals intact.
#include "guest.h"
static volatile int hits; static void handler(int s, siginfo_t *i, void *c) { hits++; }
int main(void) {
    on(SIGUSR1, handler, 0);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char *a[] = {"x", 0};
    char *longer[3] = {"x", malloc(300000), 0};
    memset(longer[1], 'a', 299999);
    longer[1][299999] = 0;
    for (int r = 0; r < 20; r++) {
        SAME(execv("/nonexistent", a), -1);
        SAME(errno, ENOENT);
        SAME(execv("/tmp", a), -1);
        SAME(errno, EACCES);
        SAME(execv("/etc/passwd/x", a), -1);
        SAME(errno, ENOTDIR);
        SAME(syscall(SYS_execve, 8L, a, a), -1);
        SAME(errno, EFAULT);
        SAME(syscall(SYS_execve, "/bin/true", 8L, a), -1);
        SAME(errno, EFAULT);
        SAME(execv("/bin/true", longer), -1);
        SAME(errno, E2BIG);
        SAME(fcntl(fd, F_GETFD), FD_CLOEXEC); SAME(raise(SIGUSR1), 0); SAME(hits, r + 1);
    }
    SAME(open("/dev/null", O_RDONLY), fd + 1);
    FINISH();
}
