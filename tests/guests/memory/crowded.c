// Everything within 2 GiB of generated code is taken by the program before it runs it:
// the translation must find room farther away.
//@ variants: pie static
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define STEP (16ul << 20)
// More than fits into memory that was taken for other code before.
#define MANY 30000

static void take(unsigned long from, unsigned long to) {
    for (unsigned long at = from; at < to; at += STEP)
        mmap((void *)at, STEP, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

int main(void) {
    // mov $n, %eax; ret
    static const unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3};
    unsigned long place = 0x200000000000;
    unsigned char *jit = mmap((void *)place, STEP, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    take(place - (3ul << 30), place);
    take(place + STEP, place + (3ul << 30));
    unsigned sum = 0;
    for (unsigned n = 0; n < MANY; n++) {
        memcpy(jit + 16 * n, code, sizeof code);
        memcpy(jit + 16 * n + 1, &n, sizeof n);
    }
    for (unsigned n = 0; n < MANY; n++)
        sum += ((unsigned (*)(void))(jit + 16 * n))();
    printf("%u\n", sum);
    return 0;
}
