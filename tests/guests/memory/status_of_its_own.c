// /proc/self/status, stat, statm and limits as natively: signals that have handlers, are
// ignored, blocked and pending as the program has made them, for each thread, and sizes of
// memory that grow by what it maps.
#include "guest.h"
#include <pthread.h>
#include <sys/resource.h>

static char text[1 << 14];
static const char *read_text(const char *path) {
    int fd = open(path, O_RDONLY), len = read(fd, text, sizeof text - 1);
    text[len > 0 ? len : 0] = 0;
    close(fd);
    return text;
}
static void line(const char *path, const char *key) {
    const char *at = strstr(read_text(path), key);
    at ? (void)printf("%.*s\n", (int)strcspn(at, "\n"), at) : (void)printf("no %s\n", key);
}
static void signals(const char *path) {
    const char *keys[] = {"SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:"};
    for (int i = 0; i < 5; i++) line(path, keys[i]);
}
static long kb(const char *key) {
    return strtol(strstr(read_text("/proc/self/status"), key) + strlen(key), 0, 10);
}
static const char *field(int n) { // behind the name
    char *at = strrchr((char *)read_text("/proc/self/stat"), ')') + 2;
    for (; n > 3; n--) at = strchr(at, ' ') + 1;
    return strtok(at, " ");
}
static void handler(int signal) { (void)signal; }
static void *other(void *unused) {
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGSEGV), sigaddset(&set, SIGUSR2);
    SAME(pthread_sigmask(SIG_BLOCK, &set, 0), 0);
    pthread_kill(pthread_self(), SIGSEGV), pthread_kill(pthread_self(), SIGUSR2);
    signals("/proc/thread-self/status");
    return unused;
}
int main(void) {
    sigset_t set;
    signal(SIGSEGV, handler), signal(SIGUSR1, handler), signal(SIGRTMIN + 3, handler);
    signal(SIGBUS, SIG_IGN), signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set), sigaddset(&set, SIGILL), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGRTMAX);
    SAME(sigprocmask(SIG_BLOCK, &set, 0), 0);
    kill(getpid(), SIGILL), kill(getpid(), SIGUSR1);
    signals("/proc/self/status");
    for (int n = 31; n <= 34; n++) printf("%s\n", field(n));
    pthread_t thread;
    pthread_create(&thread, 0, other, 0), pthread_join(thread, 0);

    u64 size = kb("VmSize:"), data = kb("VmData:"), rss = kb("VmRSS:"),
        total = strtol(read_text("/proc/self/statm"), 0, 10);
    SAME(total * 4, size);
    memset(pages(512, 3), 1, 512 * 4096);
    SAME(kb("VmSize:") - size, 2048);
    SAME(kb("VmData:") - data, 2048);
    CHECK(kb("VmRSS:") - rss >= 2000);
    CHECK(size < 64 << 10); CHECK((u64)strtol(field(23), 0, 10) >> 10 == size + 2048);

    struct rlimit limit = {100 << 20, RLIM_INFINITY};
    SAME(setrlimit(RLIMIT_DATA, &limit), 0);
    line("/proc/self/limits", "Max data size"), line("/proc/self/limits", "Max address space");
    FINISH();
}
