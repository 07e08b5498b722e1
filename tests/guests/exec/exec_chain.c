// A program that executes itself ten times over: same process id, arguments and
// environment exactly as given, also with an empty environment and an odd argv[0].
//@ variants: pie static static-pie
//@ run: => exit 10
#include "guest.h"
extern char **environ;
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0, pid = argc > 2 ? atoi(argv[2]) : getpid();
    SAME(pid, getpid());
    if (failures) return 99;
    if (n) {
        printf("%s:", argv[0]);
        for (char **e = environ; *e; e++) printf(" %s", *e);
        puts("");
        fflush(stdout);
    }
    if (n == 10) return 10;
    char a[20], b[20], v[40];
    sprintf(a, "%d", n + 1);
    sprintf(b, "%d", pid);
    sprintf(v, "STEP=%d", n);
    char *args[] = {n % 2 ? "odd name" : "", a, b, 0}, *env[] = {v, n % 3 ? 0 : "MORE=1", 0};
    execve("/proc/self/exe", args, n == 5 ? env + 2 : env); return 98;
}
