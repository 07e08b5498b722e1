// Code written through one mapping of a memfd and run through another: no write ever
// touches the pages that are executed, and none may be missed.
#include "guest.h"
int main(void) {
    int fd = memfd_create("code", 0);
    ftruncate(fd, 8192);
    u8 *w = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
       *x = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    CHECK(w != MAP_FAILED && x != MAP_FAILED);
    CHECK(w != x);
    for (u32 i = 0; i < 1000; i++) {
        int at = (i % 3) * 40;
        emit_return(w + at, i);
        SAME(((function)(x + at))(), i);
    }
    for (u32 i = 0; i < 50; i++) {
        u8 image[6];
        emit_return(image, i);
        pwrite(fd, image, 6, 4096);
        SAME(((function)(x + 4096))(), i);
    }
    munmap(w, 8192); SAME(((function)x)(), 999); FINISH();
}
