// A program that loads its own executable segments, which differ in the distance between
// address and file offset, once more and in unusual ways: the later one first, one alone,
// in pieces, at a place where a load lay before.
//@ variants: pie nopie static
//@ cflags: -Wl,-z,separate-code -Wl,--section-start=.farcode=0x10000000
#include "guest.h"
#include <elf.h>

__attribute__((section(".farcode"), noinline)) int far_code(int a) {
    int sum = 0;
    for (int n = 0; n < a; n++) sum += n % 5 ? n : -n;
    return sum;
}
__attribute__((noinline)) int near_code(int a) {
    int product = 1;
    for (int n = 1; n < a; n++) product = product * n % 1009 + 1;
    return product;
}

enum { PAGE = 4096, NEAR, FAR };
static Elf64_Phdr segments[2];
static long bias;

static void find(int file) {
    Elf64_Ehdr head;
    Elf64_Phdr row;
    pread(file, &head, sizeof head, 0);
    for (int n = 0, found = 0; n < head.e_phnum; n++) {
        pread(file, &row, sizeof row, head.e_phoff + n * sizeof row);
        if (row.p_type == PT_LOAD && row.p_flags & PF_X && found < 2) segments[found++] = row;
    }
    bias = (long)far_code - (long)segments[1].p_vaddr & -PAGE;
}

// Maps `len` bytes, or all, of a segment from the page `skip` on, for a load at `at`.
static void map(int file, char *at, int which, long skip, long len) {
    Elf64_Phdr *it = &segments[which != NEAR];
    long lead = it->p_offset % PAGE;
    char *to = at + it->p_vaddr - lead + skip;
    if (!len) len = it->p_filesz + lead - skip;
    if (mmap(to, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file,
             it->p_offset - lead + skip) != to)
        perror("mmap");
}

static void call(char *at, int which, int arg) {
    long code = which == NEAR ? (long)near_code : (long)far_code;
    printf("%d ", ((int (*)(int))(at + code - bias))(arg));
}

int main(void) {
    int file = open("/proc/self/exe", O_RDONLY);
    find(file);
    long span = segments[1].p_vaddr + segments[1].p_memsz + PAGE & -PAGE;
    char *at = mmap(0, 4 * span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int round = 0; round < 3; round++) {
        map(file, at, FAR, 0, 0), call(at, FAR, 40 + round);
        map(file, at, NEAR, 0, 0), call(at, NEAR, 30 + round), call(at, FAR, 41);
        map(file, at + span, NEAR, 0, 0), call(at + span, NEAR, 50 + round);
        map(file, at + span, FAR, 0, 0), call(at + span, FAR, 60), call(at + span, NEAR, 9);
        map(file, at + 2 * span, FAR, 0, 0), call(at + 2 * span, FAR, 70);
        // The second half first, the rest by protection.
        map(file, at + 3 * span, FAR, 0, 0), mprotect(at + 3 * span, span, PROT_READ);
        mprotect((char *)((long)(at + 3 * span + (long)far_code - bias) & -PAGE), PAGE,
                 PROT_READ | PROT_EXEC);
        call(at + 3 * span, FAR, 80);
        printf("%d %d\n", near_code(11), far_code(12));
        mmap(at, 4 * span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0);
    }
    FINISH();
}
