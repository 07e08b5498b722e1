// Open descriptors at start: 0, 1, 2 and nothing else below 64, and open() gives 3.
//@ variants: pie static
#include "guest.h"
int main(void) {
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) != -1)
            printf("%d flags %x status %x\n", fd, fcntl(fd, F_GETFD), fcntl(fd, F_GETFL));
    SAME(open("/dev/null", O_RDONLY), 3);
    int p[2];
    CHECK(pipe(p) == 0);
    SAME(p[0], 4);
    SAME(p[1], 5);
    SAME(lseek(0, 0, SEEK_CUR), 0);
    FINISH();
}
