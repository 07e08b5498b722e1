// A code file that is rewritten between mappings, and one changed through a shared
// mapping while private mappings of it are in use.
#include "guest.h"
int main(void) {
    for (u32 i = 0; i < 60; i++) {
        int fd = open("code", O_RDWR | O_CREAT | O_TRUNC, 0700);
        u8 b[4096] = {0};
        emit_return(b + 16, i);
        write(fd, b, 4096);
        u8 *p = mmap(0, 4096, 5, MAP_PRIVATE, fd, 0);
        SAME(((function)(p + 16))(), i);
        if (i % 2) munmap(p, 4096); close(fd);
        fd = open("code", O_RDWR);
        u8 *w = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
           *x = mmap(0, 4096, 5, MAP_SHARED, fd, 0);
        SAME(((function)(x + 16))(), i);
        emit_return(w + 16, i + 1000);
        SAME(((function)(x + 16))(), i + 1000);
        munmap(w, 4096);
        munmap(x, 4096);
        close(fd);
    }
    unlink("code"); FINISH();
}
