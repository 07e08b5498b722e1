// Instructions that have no form in the cache, many times over: each runs in its own place,
// at little cost in time and none in memory, with signals coming in between.
//@ timeout: 60
#include "guest.h"
#include <sys/resource.h>
static volatile int ticks;
static void tick(int s, siginfo_t *i, void *c) { ticks++; }
static long peak(void) { struct rusage r; getrusage(RUSAGE_SELF, &r); return r.ru_maxrss; }
int main(void) {
    on(SIGALRM, tick, SA_RESTART);
    struct itimerval every = {{0, 3000}, {0, 3000}};
    setitimer(ITIMER_REAL, &every, 0);
    u32 sum = 0; long before = 0;
    for (int i = 0; i < 8000; i++) {
        u32 selector = i & 3 ? 0x2b : 0;
        asm volatile("mov %0, %%gs; mov $7, %0; mov %%gs, %0" : "+r"(selector));
        sum += selector;
        if (i == 1000) before = peak();
    }
    SAME(sum, 6000 * 0x2b); CHECK(peak() - before < 4000);
    FINISH();
}
