// A program runs more code than a small limit of memory lets anybody remember: by itself and
// started under the limit, all of which it has used up, and where it may not map any more.
//@ variants: pie static
//@ run: => exit 0
//@ run: confined => exit 0
#include "../sandbox/sandbox.h"
#include <sys/resource.h>

#define MANY 40000
#define LIMIT (128ul << 20)
#define CAP_SYS_RESOURCE 24

static void use_up(void) {
    for (size_t len = 1 << 26; len >= 4096; len /= 2)
        while (mmap(0, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {}
}

// Each function once, and again when most may have been forgotten.
static void run_all(u8 *code) {
    u64 sum = 0;
    for (int round = 0; round < 2; round++)
        for (u32 n = 0; n < MANY; n++) sum += ((function)(code + 16 * n))();
    say_number("sum ", sum);
}

int main(int argc, char **argv) {
    int again = argc > 1 && argv[argc - 1][0] == 'a', confined = argc > 1 + again;
    struct rlimit limit = {LIMIT, LIMIT};
    static const int allowed[] = {SYS_write, SYS_exit_group, -1};
    u8 *code = pages(MANY / 256 + 1, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (u32 n = 0; n < MANY; n++) emit_return(code + 16 * n, n);
    if (!again && setrlimit(RLIMIT_AS, &limit)) return 1;
    use_up();
    pid_t child = again ? 1 : fork();
    if (!child || again) {
        if (confined && confine(allowed, SECCOMP_RET_KILL_PROCESS, 0)) return 2;
        run_all(code);
        if (again) leave(0);
        leave(5);
    }
    report_child("child", child);
    run_all(code);
    prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0);
    execl("/proc/self/exe", argv[0], confined ? "confined" : "again", confined ? "again" : NULL,
          NULL);
    return 3;
}
