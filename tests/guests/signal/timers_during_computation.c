// Thousands of timer signals while computing, calling, recursing, writing: the result is
// the undisturbed one, and every interrupted address lies in this program's own mappings.
//@ variants: pie static
//@ cflags: -O1
#include "guest.h"
#include <math.h>
static volatile int hits;
static u64 outside;
static struct { u64 from, to; } maps[200];
static int known;
static void handler(int s, siginfo_t *i, void *c) {
    u64 rip = GREG(c, REG_RIP); int found = 0; hits++;
    for (int k = 0; k < known; k++) found |= maps[k].from <= rip && rip < maps[k].to;
    if (!found) outside = rip;
}
static __attribute__((noinline)) u64 fib(u64 n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static __attribute__((noinline)) u64 work(void) {
    u64 h = fib(23); double d = 1; char text[64];
    for (int i = 0; i < 20000; i++) {
        d = d * 1.0000001 + 1.0 / (i + 1);
        h = h * 31 + (u64)d;
        if (i % 4 == 0) {
            snprintf(text, 64, "%d-%f", i, d);
            for (char *p = text; *p; p++) h = h * 7 + *p;
        }
        if (i % 64 == 0) h += syscall(SYS_getppid) * 0;
    }
    return h;
}
int main(int argc, char **argv) {
    char line[1024]; FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f))
        if (strstr(line, "xp ") &&
            (strstr(line, argv[0]) || strstr(line, "/libc.so") || strstr(line, "/ld-linux") ||
             strstr(line, "[vdso]") || strstr(line, "/libm.so")))
            sscanf(line, "%lx-%lx", &maps[known].from, &maps[known].to), known++;
    fclose(f);
    u64 calm = work();
    on(SIGALRM, handler, SA_RESTART);
    on(SIGPROF, handler, SA_RESTART);
    on(SIGVTALRM, handler, SA_RESTART);
    struct itimerval t = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &t, 0);
    t.it_interval.tv_usec = 700;
    setitimer(ITIMER_PROF, &t, 0);
    setitimer(ITIMER_VIRTUAL, &t, 0);
    for (int i = 0; i < 10; i++) SAME(work(), calm);
    while (hits < 300) SAME(work(), calm);
    t = (struct itimerval){{0}};
    setitimer(ITIMER_REAL, &t, 0);
    setitimer(ITIMER_PROF, &t, 0);
    setitimer(ITIMER_VIRTUAL, &t, 0);
    SAME(outside, 0);
    printf("%016lx\n", calm);
    FINISH();
}
