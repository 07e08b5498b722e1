// prctl names, a rewritten argv, comm through /proc, and a child's view of them.
#include "guest.h"
#include <sys/prctl.h>
static void show(const char *p) {
    char b[300] = {0};
    int f = open(p, O_RDONLY), n = read(f, b, 299);
    for (int i = 0; i < n; i++)
        if (!b[i]) b[i] = '|';
    printf("%s: %s\n", p, strrchr(b, '/') ? strrchr(b, '/') : b);
    close(f);
}
int main(int argc, char **argv) {
    show("/proc/self/comm");
    prctl(PR_SET_NAME, "renamed");
    char n[16];
    prctl(PR_GET_NAME, n);
    puts(n);
    show("/proc/self/comm");
    int f = open("/proc/self/comm", O_WRONLY);
    write(f, "written", 7);
    close(f);
    show("/proc/self/comm");
    show("/proc/self/cmdline");
    memset(argv[0], 'x', strlen(argv[0]));
    show("/proc/self/cmdline");
    FINISH();
}
