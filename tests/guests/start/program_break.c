// The program break: the heap begins there, grows without a gap and is named in maps.
//@ variants: pie nopie static static-pie
#include "guest.h"
int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    char *first = sbrk(0);
    for (int i = 0; i < 64; i++) CHECK(sbrk(1 << 20) == first + ((long)i << 20));
    memset(first, 1, 64L << 20);
    CHECK(brk(first) == 0);
    CHECK(sbrk(8192) == first);
    SAME(first[0] | first[8191], first[0]);
    char line[400];
    int heap = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)) heap += strstr(line, "[heap]") != 0;
    CHECK(heap >= 1);
    FINISH();
}
