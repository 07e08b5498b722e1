// Calls that would change the mapping or the protection of generated code and fail: the
// program writes and calls it as before.
#include "guest.h"
typedef int (*code)(void);
static u8 *p;
static void expect(int value, long result, int error) {
    SAME(result, -1); SAME(errno, error);
    u8 text[] = {0xb8, value, 0, 0, 0, 0xc3};
    memcpy(p, text, sizeof text);
    SAME(((code)p)(), value);
}
int main(void) {
    p = pages(2, PROT_READ | PROT_WRITE | PROT_EXEC); munmap(p + 4096, 4096);
    errno = EINVAL; expect(1, -1, EINVAL);
    expect(2, mprotect(p, 4096, 0xff00), EINVAL);
    expect(3, mprotect(p, 4096, PROT_READ | PROT_GROWSDOWN), EINVAL);
    expect(4, mprotect(p + 1, 4096, PROT_READ), EINVAL);
    expect(5, pkey_mprotect(p, 4096, PROT_READ, 99), EINVAL);
    expect(6, munmap(p, 0), EINVAL);
    expect(7, munmap(p, -4096), EINVAL);
    expect(8, (long)mremap(p, 4096, 8192, 0x100), EINVAL);
    expect(9, (long)mremap(p, 4096, 1ul << 46, MREMAP_MAYMOVE), ENOMEM);
    expect(10, (long)mmap(p, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, 999, 0), EBADF);
    u8 *to = (u8 *)mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, p + (64 << 20));
    CHECK(to == p + (64 << 20)); SAME(((code)to)(), 10);
    p = to; errno = EINVAL; expect(11, -1, EINVAL);
    FINISH();
}
