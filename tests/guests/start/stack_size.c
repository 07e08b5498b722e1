// The main stack grows on demand to nearly its limit, and maps calls it [stack].
//@ variants: pie static
#include "guest.h"
#include <sys/resource.h>
static __attribute__((noinline)) int use(int bytes) {
    volatile char block[4096];
    block[0] = bytes;
    return bytes <= 0 ? 0 : use(bytes - 4096) + (block[0] != 0) * 0 + 1;
}
int main(void) {
    struct rlimit l;
    getrlimit(RLIMIT_STACK, &l);
    printf("%ld\n", (long)l.rlim_cur);
    printf("%d\n", use(6 << 20));
    char line[400];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)) {
        unsigned long from, to;
        sscanf(line, "%lx-%lx", &from, &to);
        if (strstr(line, "[stack]")) found += from <= (u64)&l && (u64)&l < to;
    }
    SAME(found, 1);
    FINISH();
}
