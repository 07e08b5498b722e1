// Calls through the vdso: clock_gettime, gettimeofday, time, getcpu as libc makes them and
// directly from its symbol table; results agree with the system calls.
//@ variants: pie static
#include "guest.h"
#include <elf.h>
#include <sys/auxv.h>
static void *find(const char *name) {
    u8 *base = (u8 *)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr *e = (void *)base;
    Elf64_Phdr *p = (void *)(base + e->e_phoff);
    Elf64_Dyn *d = 0;
    Elf64_Sym *sym = 0;
    char *str = 0;
    u32 *hash = 0;
    u64 slide = 0;
    for (int i = 0; i < e->e_phnum; i++) {
        if (p[i].p_type == PT_DYNAMIC) d = (void *)(base + p[i].p_offset);
        if (p[i].p_type == PT_LOAD && !slide) slide = (u64)base - p[i].p_vaddr;
    }
    int count = 0;
    for (; d->d_tag; d++) {
        void *a = (void *)(slide + d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB) sym = a;
        if (d->d_tag == DT_STRTAB) str = a;
        if (d->d_tag == DT_HASH) hash = a;
    }
    count = hash ? hash[1] : 12;
    for (int i = 0; i < count; i++)
        if (sym[i].st_name && !strcmp(str + sym[i].st_name, name))
            return (void *)(slide + sym[i].st_value);
    return 0;
}
int main(void) {
    struct timespec a, b, c;
    int (*clock)(clockid_t, struct timespec *) = find("__vdso_clock_gettime");
    unsigned cpu;
    int (*where)(unsigned *, unsigned *, void *) = find("__vdso_getcpu");
    CHECK(clock != 0);
    for (int i = 0; i < 1000; i++) {
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (clock) clock(CLOCK_MONOTONIC, &b);
        else b = a;
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &c);
        u64 x = a.tv_sec * 1000000000L + a.tv_nsec, y = b.tv_sec * 1000000000L + b.tv_nsec,
            z = c.tv_sec * 1000000000L + c.tv_nsec;
        CHECK(x <= y && y <= z && z - x < 5000000000);
        if (where) SAME(where(&cpu, 0, 0), 0);
        struct timeval tv;
        gettimeofday(&tv, 0);
        CHECK(labs(time(0) - tv.tv_sec) <= 1);
        CHECK(sched_getcpu() >= 0);
    }
    FINISH();
}
