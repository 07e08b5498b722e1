// argv, environ, and what /proc says about them: cmdline, comm, exe, environ.
//@ variants: pie static
//@ run: => exit 0
//@ run: a -t --db -- @x %p => exit 0
#include "guest.h"
extern char **environ;
static void show(const char *path) {
    char buffer[65536];
    int fd = open(path, O_RDONLY), n = read(fd, buffer, sizeof buffer);
    printf("%s (%d):", path, n);
    for (int i = 0; i < n; i++) putchar(buffer[i] ? buffer[i] : '|');
    puts("");
    close(fd);
}
int main(int argc, char **argv) {
    for (int i = 0; i <= argc; i++) printf("argv %s\n", argv[i] ? argv[i] : "(end)");
    for (char **e = environ; *e; e++) printf("env %s\n", *e);
    show("/proc/self/cmdline");
    show("/proc/self/comm");
    show("/proc/self/environ");
    char exe[4096] = {0};
    readlink("/proc/self/exe", exe, sizeof exe - 1);
    printf("exe %s\n%s\n%s\n", exe, program_invocation_name, program_invocation_short_name);
    CHECK(strcmp(exe, argv[0]) == 0);
    FINISH();
}
