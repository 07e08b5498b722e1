// A process that has opened as many files as it may ends as ever, and what ppin has to write
// is written.
#include "guest.h"
#include <sys/resource.h>

int main(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 40;
    SAME(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int last = 0, fd;
    while ((fd = open("/dev/null", O_RDONLY)) >= 0) last = fd;
    SAME(errno, EMFILE);
    SAME(last, 39);
    getrlimit(RLIMIT_NOFILE, &limit);
    SAME(limit.rlim_cur, 40);
    FINISH();
}
