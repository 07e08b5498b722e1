// Where ppin's own executable cannot be reached (behind a chroot), and where a helper
// would be the first process of a new PID namespace: the next program runs all the same.
//@ variants: static
#include "guest.h"
#include <sys/stat.h>
int main(int argc, char **argv) {
    if (argc > 1) { printf("inside %s\n", argv[1]); return 7; }
    char dir[] = "/tmp/out_of_sight_XXXXXX", self[4096] = "", name[64];
    ssize_t n = readlink("/proc/self/exe", self, 4095);
    CHECK(n > 0);
    CHECK(mkdtemp(dir) != 0);
    sprintf(name, "%s/me", dir);
    int from = open(self, O_RDONLY), to = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    char b[4096];
    while ((n = read(from, b, 4096)) > 0) SAME(write(to, b, n), n);
    close(to);
    fflush(stdout);
    pid_t k = fork();
    if (!k) {
        if (unshare(CLONE_NEWUSER) && geteuid()) puts("inside chroot"), fflush(stdout), _exit(7);
        if (chroot(dir)) _exit(8);
        chdir("/");
        execl("/me", "me", "chroot", (char *)0);
        _exit(9);
    }
    report_child("chroot", k);
    k = fork();
    if (!k) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID)) puts("inside pid"), fflush(stdout), _exit(7);
        execl(self, "me", "pid", (char *)0);
        _exit(9);
    }
    report_child("pid", k);
    unlink(name); rmdir(dir); FINISH();
}
