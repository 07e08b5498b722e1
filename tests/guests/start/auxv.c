// The auxiliary vector: its entries in order, and those that describe this program
// checked against the program itself.
//@ variants: pie nopie static static-pie musl
#include "guest.h"
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
extern char **environ;
extern const ElfW(Ehdr) __ehdr_start;
extern void _start(void);
int main(int argc, char **argv) {
    char **p = environ;
    while (*p) p++;
    for (ElfW(auxv_t) *a = (void *)(p + 1); a->a_type != AT_NULL; a++)
        printf("%lu ", (long)a->a_type);
    puts("");
    SAME(getauxval(AT_ENTRY), &_start);
    SAME(getauxval(AT_PHDR), (char *)&__ehdr_start + __ehdr_start.e_phoff);
    SAME(getauxval(AT_PHNUM), __ehdr_start.e_phnum);
    SAME(getauxval(AT_PAGESZ), 4096);
    SAME(getauxval(AT_SECURE), 0);
    SAME(getauxval(AT_UID), getuid());
    SAME(strcmp((char *)getauxval(AT_EXECFN), argv[0]), 0);
    CHECK(memcmp((char *)getauxval(AT_SYSINFO_EHDR), "\177ELF", 4) == 0);
    CHECK(getauxval(AT_RANDOM) > (u64)argv);
    printf("%s %d\n", (char *)getauxval(AT_PLATFORM), getauxval(AT_BASE) != 0);
    FINISH();
}
