// A daemon by double fork and setsid: it outlives its parents, whose exits are seen at
// once, and reports through a pipe that then closes.
#include "guest.h"
int main(void) {
    int p[2]; pipe(p); pid_t k = fork();
    if (!k) {
        setsid();
        if (fork()) _exit(0);
        close(p[0]);
        chdir("/");
        int n = open("/dev/null", O_RDWR);
        dup2(n, 0);
        dup2(n, 1);
        dup2(n, 2);
        close(n);
        usleep(30000);
        char t[100];
        int l = sprintf(t, "daemon: orphan %d, leader %d\n", getppid() != k, getsid(0) == getpid());
        write(p[1], t, l);
        _exit(0);
    }
    close(p[1]);
    report_child("first", k);
    char t[200];
    int n, at = 0;
    while ((n = read(p[0], t + at, sizeof t - at)) > 0) at += n;
    fwrite(t, 1, at, stdout);
    FINISH();
}
