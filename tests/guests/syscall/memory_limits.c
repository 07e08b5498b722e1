// Under a small address space limit and few descriptors: allocation fails as natively when
// it must, what fits works, and new code still runs.
#include "guest.h"
#include <sys/resource.h>
static __attribute__((noinline)) int fresh(int x) {
    struct tm t;
    time_t z = x;
    gmtime_r(&z, &t);
    return t.tm_year;
}
int main(void) {
    syscall(SYS_close_range, 3, ~0u, 0);
    struct rlimit r = {12, 12};
    setrlimit(RLIMIT_NOFILE, &r);
    int n = 0;
    while (open("/dev/null", O_RDONLY) >= 0) n++;
    SAME(n, 9);
    SAME(fresh(0), 70);
    SAME(fresh(86400 * 400), 71);
    FINISH();
}
