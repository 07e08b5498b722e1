// A program that has used up what its limit of memory allows goes on: code it has not run
// before, signals, a fork; and so does one that was started under the limit.
#include "want.h"
#include <sys/resource.h>
static void use_up(void) {
    for (size_t len = 1 << 26; len >= 4096; len /= 2)
        while (mmap(0, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {}
}
int main(int argc, char **argv) {
    char line[64];
    struct rlimit limit = {200 << 20, RLIM_INFINITY};
    setvbuf(stdout, line, _IOLBF, sizeof line);
    if (argc == 1) SAME(setrlimit(RLIMIT_AS, &limit), 0);
    use_up();
    go_on();
    if (failures || argc > 1) FINISH();
    execl("/proc/self/exe", argv[0], "again", NULL);
    return 1;
}
