// Shared anonymous code that gets a second address only after it was run: by mremap with
// an old size of 0, by remap_file_pages, through /proc/self/map_files. Each store through
// the other address counts at the next call.
#include "guest.h"
#include <dirent.h>
static u32 calls(u8 *code, int n) {
    u32 sum = 0;
    for (int i = 0; i < n; i++) sum += ((function)code)();
    return sum;
}
static u8 *fresh(u32 value) {
    u8 *p = mmap(0, 8192, 7, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    emit_return(p, value);
    SAME(calls(p, 100), 100 * value);
    return p;
}
static void patched(u8 *run, u8 *write) {
    for (u32 v = 1; v < 50; v++) {
        *(u32 *)(write + 1) = v;
        SAME(calls(run, 3), 3 * v);
    }
}
int main(void) {
    u8 *code = fresh(3), *twin = mremap(code, 0, 8192, MREMAP_MAYMOVE);
    CHECK(twin != MAP_FAILED);
    patched(code, twin);
    patched(twin, code);
    u8 *third = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mremap(twin, 0, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, third) == third);
    munmap(twin, 8192);
    patched(code, third);
    patched(third, code);
    code = fresh(5);
    emit_return(code + 4096, 6);
    SAME(calls(code + 4096, 9), 54);
    if (!syscall(SYS_remap_file_pages, code + 4096, 4096, 0, 0, 0)) patched(code, code + 4096);
    code = fresh(4);
    char name[99];
    sprintf(name, "/proc/self/map_files/%lx-%lx", (long)code, (long)code + 8192);
    int fd = open(name, O_RDWR);
    if (fd >= 0) {
        u8 *view = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(view != MAP_FAILED);
        patched(code, view);
        for (u32 v = 1; v < 20; v++) {
            pwrite(fd, &v, 4, 1);
            SAME(calls(code, 3), 3 * v);
        }
    }
    // Made executable later, written while it was not.
    code = fresh(9);
    for (u32 v = 1; v < 20; v++) {
        mprotect(code, 4096, PROT_READ | PROT_WRITE);
        *(u32 *)(code + 1) = v;
        mprotect(code, 4096, PROT_READ | PROT_EXEC);
        SAME(calls(code, 3), 3 * v);
    }
    FINISH();
}
