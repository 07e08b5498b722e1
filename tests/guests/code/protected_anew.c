// A generator that takes the right to execute its code away whenever it changes some of it:
// what it has not changed still runs, what it has is new, whichever pieces it protects, and
// also where the memory was moved or replaced while it could not be executed.
#include "guest.h"
#include <setjmp.h>
enum { PAGES = 16, EACH = 61, COUNT = PAGES * 4096 / EACH };
static u32 values[COUNT]; static u8 *code; static sigjmp_buf back; static u64 address;
static void on_fault(int s, siginfo_t *i, void *c) {
    address = (u64)i->si_addr;
    siglongjmp(back, 1);
}
static u32 call(int n) { return ((function)(code + n * EACH))(); }
static void all(void) { for (int n = 0; n < COUNT; n += 7) SAME(call(n), values[n]); }
static void set(int n, u32 v) { emit_return(code + n * EACH, v); values[n] = v; }
int main(void) {
    on(SIGSEGV, on_fault, 0);
    code = pages(PAGES, PROT_READ | PROT_WRITE);
    for (int n = 0; n < COUNT; n++) set(n, n);
    mprotect(code, PAGES * 4096, PROT_READ | PROT_EXEC);
    all();
    all();
    u32 seed = 1;
    for (u32 round = 0; round < 600; round++) {
        seed = seed * 1103515245 + 12345;
        int first = seed >> 16 & 15, count = 1 + (seed >> 20) % (PAGES - first);
        u8 *from = code + first * 4096;
        int prot = round % 5 == 4 ? PROT_READ | PROT_WRITE | PROT_EXEC : PROT_READ | PROT_WRITE;
        CHECK(!mprotect(from, count * 4096, prot));
        int n = (first * 4096 + EACH - 1) / EACH + (seed >> 8) % 60;
        if (n * EACH + 6 < (first + count) * 4096) set(n, round * 1000);
        if (prot & PROT_EXEC) {
            SAME(call(n < COUNT ? n : 0), values[n < COUNT ? n : 0]);
        } else if (round % 10 == 0) {
            if (!sigsetjmp(back, 1)) {
                ((function)(from + 64))();
                CHECK(0);
            }
            SAME(address, (u64)from + 64);
        }
        CHECK(!mprotect(from, count * 4096, PROT_READ | PROT_EXEC));
        call((first * 4096 + EACH) / EACH % COUNT);
        if (round % 40 == 0) all();
    }
    all();
    // Moved, replaced, and given back, while it cannot be executed.
    mprotect(code, PAGES * 4096, PROT_READ | PROT_WRITE);
    u8 *old = code, *place = pages(PAGES, PROT_NONE);
    code = mremap(old, PAGES * 4096, PAGES * 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    CHECK(code == place);
    CHECK(mmap(old, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
               -1, 0) == old);
    mprotect(code, PAGES * 4096, PROT_READ | PROT_EXEC);
    all();
    emit_return(old, 4711);
    mprotect(old, 4096, PROT_READ | PROT_EXEC);
    SAME(((function)old)(), 4711);
    mprotect(old, 4096, PROT_READ | PROT_WRITE);
    int fd = memfd_create("code", 0);
    ftruncate(fd, 4096);
    u8 *w = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    emit_return(w, 1);
    munmap(old, 4096);
    u8 *run = mmap(old, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
    CHECK(run == old);
    mprotect(run, 4096, PROT_READ | PROT_EXEC);
    for (u32 v = 1; v < 30; v++) {
        emit_return(w, v);
        for (int i = 0; i < 3; i++) SAME(((function)run)(), v);
        if (v % 9 == 0) {
            mprotect(run, 4096, PROT_READ);
            mprotect(run, 4096, PROT_READ | PROT_EXEC);
        }
    }
    // A child has its own.
    pid_t child = fork();
    if (!child) {
        mprotect(code, 4096, PROT_READ | PROT_WRITE);
        set(0, 99);
        mprotect(code, 4096, PROT_READ | PROT_EXEC);
        all();
        _exit(failures);
    }
    int status;
    waitpid(child, &status, 0);
    SAME(status, 0);
    SAME(values[0], call(0));
    all();
    FINISH();
}
