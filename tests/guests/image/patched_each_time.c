// A program that writes into its own code before it runs it, something else in each run, as a
// loader does that relocates code where it lies (DT_TEXTREL).
//@ variants: pie nopie static
//@ cflags: -O1
#include "guest.h"
#include <sys/mman.h>
#include <unistd.h>

extern unsigned patched(void), patched_too(unsigned);
extern char first_page[], patch[], patch_too[];
__asm__(".text\n.balign 4096\n.globl first_page, patched, patched_too, patch, patch_too\n"
        "first_page:\n"
        "patched: mov $0x11223344, %eax\npatch: ret\n"
        ".balign 64\n"
        "patched_too: lea 1(%rdi), %eax; add $0x11223344, %eax\npatch_too: ret\n"
        ".balign 4096\n");

static void write_to(char *behind, unsigned value) {
    memcpy(behind - 4, &value, 4);
}

int main(void) {
    unsigned value = (unsigned)getpid();
    CHECK(!mprotect(first_page, 4096, PROT_READ | PROT_WRITE));
    write_to(patch, value);
    write_to(patch_too, ~value);
    CHECK(!mprotect(first_page, 4096, PROT_READ | PROT_EXEC));
    for (unsigned n = 0; n < 1000; n++) {
        SAME(patched(), value);
        SAME(patched_too(n), n - value);
    }
    FINISH();
}
