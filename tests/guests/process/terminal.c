// A pseudo-terminal with a shell on it: session, controlling terminal, foreground group,
// an interrupt character, and hang-up at the end.
#include "guest.h"
#include <termios.h>
#include <sys/ioctl.h>
int main(void) {
    int m = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(m);
    unlockpt(m);
    char *name = ptsname(m);
    pid_t k = fork();
    if (!k) {
        setsid();
        int s = open(name, O_RDWR);
        ioctl(s, TIOCSCTTY, 0);
        close(m);
        dup2(s, 0);
        dup2(s, 1);
        dup2(s, 2);
        execl("/bin/sh", "sh", "-c",
              "trap 'echo interrupted; sleep 0.3; exit 4' INT; echo ready $(ps -o pgid= >/dev/null "
              "2>&1; echo x); while :; do sleep 0.05; done",
              NULL);
        _exit(1);
    }
    char b[4096];
    int at = 0, sent = 0, n;
    while ((n = read(m, b + at, sizeof b - 1 - at)) > 0) {
        at += n;
        b[at] = 0;
        if (!sent && strstr(b, "ready")) {
            write(m, "\003", 1);
            sent = 1;
        }
    }
    printf("%d %d\n", strstr(b, "ready x") != 0, strstr(b, "interrupted") != 0);
    report_child("shell", k);
    FINISH();
}
