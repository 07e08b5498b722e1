// A program whose file is mapped twice, below 2 GiB and far above: both copies run, in turn.
//@ variants: pie nopie static
#include "guest.h"

static int numbers[64];
static int ascending(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) static int work(int seed) {
    int sum = 0;
    for (int n = 0; n < 64; n++) numbers[n] = (seed = seed * 1103515245 + 12345) >> 8 & 0xfff;
    for (int n = 1; n < 64; n++) sum += numbers[n] > numbers[n - 1] ? numbers[n] : -n;
    return sum;
}

// Whether it tells of the program's file: the last letter of nopie, pie or static. (What
// strstr does with the addresses of others differs from run to run.)
static int is_ours(const char *line) {
    while (*line != '\n') line++;
    return line[-1] == 'e' || line[-1] == 'c';
}

int main(void) {
    // The code segment, with what it refers to at the same distances.
    char line[4096], *copy = 0;
    unsigned long from, to, offset, first = 0, last = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) && is_ours(line)) {
        sscanf(line, "%lx-%lx", &from, &to);
        first = first ? first : from, last = to;
    }
    rewind(maps);
    copy = mmap(0, last - first, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = open("/proc/self/exe", O_RDONLY);
    while (fgets(line, sizeof line, maps) && is_ours(line)) {
        char perms[8];
        sscanf(line, "%lx-%lx %7s %lx", &from, &to, perms, &offset);
        int protection = (perms[0] == 'r') | (perms[1] == 'w') << 1 | (perms[2] == 'x') << 2;
        mmap(copy + (from - first), to - from, protection, MAP_PRIVATE | MAP_FIXED, fd, offset);
    }
    int (*again)(int) = (void *)(copy + ((u64)work - first));
    for (int n = 0; n < 5; n++) SAME(again(n), work(n));
    FINISH();
}
