// mlockall(2) with its three flags and munlockall, with privileges and within a limit: what is
// there is locked, and so is what comes, by mmap, brk and shmat; beyond the limit it fails.
#include "guest.h"
#include <sys/resource.h>
#include <sys/shm.h>
static long figure(const char *name) {
    char line[256]; long kb = -1; FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name))) kb = atol(line + strlen(name) + 1);
    return fclose(f), kb;
}
static long locked(void) { return figure("VmLck"); }
static void try(const char *what, int flags) {
    int result = mlockall(flags);
    long size = figure("VmSize"), now = locked();
    printf("%s: %d %s, %s\n", what, result, result ? strerror(errno) : "",
           now == 0                           ? "nothing"
           : now <= size && now + 128 >= size ? "all"
           : now < size                       ? "some"
                                              : "more than all");
}
static void grow(const char *what) {
    long before = locked();
    u8 *p = (u8 *)mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%s: %s, %ld kB more", what, p == MAP_FAILED ? strerror(errno) : "mapped",
           locked() - before);
    before = locked();
    void *end = sbrk(0);
    void *old = sbrk(64 << 12);
    printf(", by brk %ld kB", locked() - before);
    if (old == end) sbrk(-(64 << 12));
    before = locked();
    int id = shmget(IPC_PRIVATE, 8 << 12, 0600);
    void *s = shmat(id, 0, 0);
    printf(", by shmat %ld kB\n", locked() - before);
    shmdt(s);
    shmctl(id, IPC_RMID, 0);
    if (p != MAP_FAILED) munmap(p, 1 << 20);
}
static void all(void) {
    malloc(1); grow("before");
    try("none", 0); try("unknown", 64); try("on fault alone", MCL_ONFAULT);
    try("current", MCL_CURRENT); grow("current"); munlockall(); printf("left %ld\n", locked());
    try("future", MCL_FUTURE); grow("future"); munlockall();
    try("both", MCL_CURRENT | MCL_FUTURE); grow("both");
    fflush(stdout);
    if (!fork()) {
        printf("child %ld\n", locked());
        grow("child");
        fflush(stdout);
        _exit(0);
    }
    wait(0);
    try("current after both", MCL_CURRENT); grow("current after both"); munlockall();
    try("both on fault", MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT); grow("both on fault");
    u8 *big = (u8 *)mmap(0, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("32 MB: %s\n", big == MAP_FAILED ? strerror(errno) : "mapped");
    if (big != MAP_FAILED) munmap(big, 32 << 20);
    printf("unlocked %d", munlockall()); printf(", left %ld\n", locked()); grow("after");
    fflush(stdout);
}
static void within(rlim_t limit, const char *what) {
    fflush(stdout); int st; pid_t k = fork();
    if (!k) {
        struct rlimit r = {limit, limit}; setrlimit(RLIMIT_MEMLOCK, &r);
        if (!getuid()) CHECK(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534));
        puts(what); all(); _exit(failures);
    }
    waitpid(k, &st, 0); SAME(st, 0);
}
int main(void) {
    if (!getuid()) all();
    within(7 << 20, "7 MB"); within(64 << 10, "64 kB"); within(0, "nothing");
    FINISH();
}
