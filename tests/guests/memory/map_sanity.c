// /proc/self/maps: a well-formed, ordered list that contains our stack, heap, code and
// data with the right permissions, before and after mmap, and no overlap.
#include "guest.h"
static int has(void *a, const char *perm) {
    char l[4096], p[8];
    unsigned long f, t;
    int found = 0;
    FILE *m = fopen("/proc/self/maps", "r");
    while (fgets(l, 4096, m)) {
        sscanf(l, "%lx-%lx %7s", &f, &t, p);
        if (f <= (u64)a && (u64)a < t) found += !strcmp(p, perm);
    }
    fclose(m);
    return found;
}
int main(void) {
    unsigned long f, t, last = 0;
    char l[4096];
    FILE *m = fopen("/proc/self/maps", "r");
    while (fgets(l, 4096, m)) {
        SAME(sscanf(l, "%lx-%lx", &f, &t), 2);
        CHECK(f >= last && t > f);
        last = t;
    }
    fclose(m);
    static int data;
    int local;
    SAME(has(main, "r-xp"), 1);
    SAME(has(&data, "rw-p"), 1);
    SAME(has(&local, "rw-p"), 1);
    SAME(has(malloc(10), "rw-p"), 1);
    SAME(has((void *)fopen, "r-xp"), 1);
    u8 *p = pages(3, PROT_READ);
    SAME(has(p, "r--p"), 1);
    munmap(p + 4096, 4096);
    SAME(has(p + 4096, "r--p"), 0);
    mprotect(p, 4096, 5);
    SAME(has(p, "r-xp"), 1);
    mprotect(p, 4096, 7);
    SAME(has(p, "rwxp"), 1);
    emit_return(p, 4);
    SAME(((function)p)(), 4);
    FINISH();
}
