// Programs that lay claim to fixed parts of the address space (shadow memory of
// sanitizers, heaps with coloured pointers) or to most of it at once find them free.
//@ variants: pie nopie static
#include "guest.h"

#define TERA (1ul << 40)

static void claim(const char *whose, u64 from, u64 to) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *at = mmap((void *)from, to - from, PROT_NONE, flags, -1, 0);
    printf("%s %lx-%lx: %s\n", whose, from, to, at == (void *)from ? "free" : "taken");
    munmap(at, to - from);
}

int main(void) {
    claim("address shadow", 0x10007fff8000 / 8 + 0x7fff8000, 0x10007fff8000);
    claim("thread shadow and maps", 0x008000000000, 0x550000000000);
    claim("thread, between", 0x568000000000, 0x7b0000000000);
    claim("thread heap", 0x7b0000000000, 0x7e8000000000);
    claim("memory shadow", 0x010000000000, 0x510000000000);
    claim("memory origins", 0x600000000000, 0x700000000000);
    claim("coloured heap", 0x040000000000, 0x200000000000);
    for (u64 size = 80; size >= 16; size /= 2) {
        void *at =
            mmap(0, size * TERA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        printf("%lu TiB: %d\n", size, at != MAP_FAILED);
        munmap(at, size * TERA);
    }
    return 0;
}
