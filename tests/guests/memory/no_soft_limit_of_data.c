// A soft limit of data of 0 does not forbid to map memory as long as the hard one allows for
// it (Linux, may_expand_vm); but no heap grows.
#include "guest.h"
#include <sys/resource.h>

static int is_mapped(size_t size) {
    void *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED && !munmap(at, size);
}
static int grows(void) {
    char *end = sbrk(0);
    return sbrk(4096) == end;
}
static void limit(rlim_t hard) {
    struct rlimit wanted = {0, hard}, now;
    setrlimit(RLIMIT_DATA, &wanted);
    getrlimit(RLIMIT_DATA, &now);
    SAME(now.rlim_cur, 0); SAME(now.rlim_max, hard);
}
int main(int count, char **names) {
    if (count == 1) {
        limit(RLIM_INFINITY);
        SAME(is_mapped(64 << 20), 1); SAME(grows(), 0);
    }
    limit(512 << 20);
    SAME(is_mapped(64 << 20), 1); SAME(is_mapped(1 << 30), 0); SAME(grows(), 0);
    if (count == 1) {
        execl("/proc/self/exe", names[0], "again", (char *)0);
        perror("exec");
    }
    limit(0);
    SAME(is_mapped(64 << 20), 0); SAME(is_mapped(4096), 0);
    FINISH();
}
