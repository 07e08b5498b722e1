// execve from a thread that is not the first: the others vanish, the process id stays.
//@ libs: -lpthread
//@ run: => exit 21
#include "guest.h"
#include <pthread.h>
static char **names; static void *spin(void *a) { for (;;) { u64 x = 1; KEEP(x); } }
static void *body(void *a) {
    char pid[20];
    sprintf(pid, "%d", getpid());
    puts("exec");
    fflush(stdout);
    execl("/proc/self/exe", names[0], pid, NULL);
    return 0;
}
int main(int argc, char **argv) {
    if (argc > 1) {
        printf("%d %d\n", atoi(argv[1]) == getpid(), getpid() == syscall(SYS_gettid));
        char line[200];
        FILE *f = fopen("/proc/self/status", "r");
        while (fgets(line, 200, f))
            if (!strncmp(line, "Threads", 7)) fputs(line, stdout);
        fflush(stdout);
        return 21;
    }
    names = argv;
    pthread_t t;
    for (int i = 0; i < 5; i++) pthread_create(&t, 0, spin, 0);
    pthread_create(&t, 0, body, 0);
    spin(0);
}
