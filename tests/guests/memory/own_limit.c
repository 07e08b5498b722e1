// A program limits its memory to little more than it uses itself: that is what it gets, sees,
// and hands on to children and to programs that it executes. What ppin needs is not its own.
//@ variants: pie static
#include "../guest.h"
#include <sys/resource.h>
#include <sys/wait.h>

#define MB (1ul << 20)

static void *want(size_t len) {
    void *got = mmap(0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

static void limited(int resource) {
    struct rlimit limit = {24 * MB, 28 * MB}, seen, before, bad = {2, 1};
    SAME(setrlimit(resource, &limit), 0);
    SAME(getrlimit(resource, &seen), 0);
    SAME(seen.rlim_cur, 24 * MB);
    SAME(seen.rlim_max, 28 * MB);
    void *most = want(12 * MB);
    CHECK(most);
    CHECK(!want(24 * MB));
    free(malloc(100000));
    munmap(most, 12 * MB);
    seen.rlim_cur = 28 * MB;
    SAME(prlimit(0, resource, &seen, &before), 0);
    SAME(before.rlim_cur, 24 * MB);
    SAME(before.rlim_max, 28 * MB);
    SAME(prlimit(getpid(), resource, 0, &before), 0);
    SAME(before.rlim_cur, 28 * MB);
    SAME(setrlimit(resource, &bad), -1);
    SAME(errno, EINVAL);
    SAME(setrlimit(resource, (void *)8), -1);
    SAME(errno, EFAULT);
    SAME(getrlimit(resource, (void *)8), -1);
    SAME(errno, EFAULT);
}

// What comes after: a failed exec changes nothing, a fork and a new program get the same.
static void handed_on(int resource, char *self) {
    int status;
    struct rlimit seen;
    SAME(execl("/nonexistent", "x", NULL), -1);
    for (int way = 0; way < 3; way++) {
        pid_t child = way == 2 ? vfork() : fork();
        if (!child && way) execl(self, self, resource == RLIMIT_AS ? "as" : "data", NULL);
        if (!child) _exit(getrlimit(resource, &seen) || seen.rlim_max != 28 * MB);
        waitpid(child, &status, 0);
        SAME(status, 0);
    }
    SAME(getrlimit(resource, &seen), 0);
    SAME(seen.rlim_cur, 28 * MB);
    SAME(seen.rlim_max, 28 * MB);
}

int main(int argc, char **argv) {
    struct rlimit seen;
    int status;
    if (argc > 1) {
        SAME(getrlimit(argv[1][0] == 'a' ? RLIMIT_AS : RLIMIT_DATA, &seen), 0);
        SAME(seen.rlim_cur, 28 * MB);
        SAME(seen.rlim_max, 28 * MB);
        return failures;
    }
    int all[] = {RLIMIT_AS, RLIMIT_DATA};
    for (int k = 0; k < 2; k++) {
        if (fork() == 0) {
            limited(all[k]);
            handed_on(all[k], "/proc/self/exe");
            fflush(stdout);
            _exit(failures);
        }
        wait(&status);
        SAME(status, 0);
    }
    FINISH();
}
