// Calls that take a range of memory, with ranges that wrap, end beyond all memory or cover all of
// it: the program's part alone is changed, with the kernel's result; then its end is as natively.
// With a name as argument each call is shown.
//@ cflags: -fno-stack-protector
//@ timeout: 60
#include "guest.h"
#include <grp.h>
#include <sys/prctl.h>
#include <sys/uio.h>

enum { ARGS = 6 };
#define GOOD 0x20000000ul
#define KEPT(result) ((result) ^ 0x5a5a5a5a5a5a5a5aul)
#define BEGUN 0x0123456789abcdeful
#define END (1ul << 47)

static u64 starts[] = {0,
                       1,
                       4096,
                       GOOD,
                       GOOD + 1,
                       GOOD + 4096,
                       GOOD - 4096,
                       GOOD + 3 * 4096,
                       0x550000000000,
                       0x500000000000,
                       END - 4096,
                       END,
                       1ul << 63,
                       -4096ul,
                       -1ul};
// (The second one: to the end of memory.)
#define REST 0xe0dul
static const u64 LENGTHS[] = {0,         REST,      1,          4095,    4097,
                              3 * 4096,  1ul << 46, END - 4096, END,     END + 4096,
                              1ul << 63, -8192ul,   -4096ul,    -4095ul, -1ul};
enum {
    STARTS = sizeof starts / sizeof *starts,
    LENS = sizeof LENGTHS / sizeof *LENGTHS,
    CALLS = STARTS * LENS
};
enum { MSEAL = 462, PROCESS_MADVISE = 440, HOME_NODE = 450, SELF = -10000 };

// What stands for the start and the length.
#define AT 0xa11ul
#define LEN 0xa12ul
static const struct { const char *name; long nr; u64 args[ARGS];
} FORMS[] = {
    {"munmap", SYS_munmap, {AT, LEN}},
    {"mprotect-none", SYS_mprotect, {AT, LEN, PROT_NONE}},
    {"mprotect-rwx", SYS_mprotect, {AT, LEN, 7}},
    {"mprotect-down", SYS_mprotect, {AT, LEN, PROT_READ | PROT_GROWSDOWN}},
    {"mprotect-bad", SYS_mprotect, {AT, LEN, 0x1000000 | PROT_GROWSDOWN | PROT_GROWSUP}},
    {"mprotect-unknown", SYS_mprotect, {AT, LEN, 0x40000000}},
    {"pkey", SYS_pkey_mprotect, {AT, LEN, PROT_READ, -1ul}},
    {"pkey-bad", SYS_pkey_mprotect, {AT, LEN, PROT_READ, 17}},
    {"normal", SYS_madvise, {AT, LEN, MADV_NORMAL}},
    {"willneed", SYS_madvise, {AT, LEN, MADV_WILLNEED}},
    {"dontneed", SYS_madvise, {AT, LEN, MADV_DONTNEED}},
    {"free", SYS_madvise, {AT, LEN, MADV_FREE}},
    {"remove", SYS_madvise, {AT, LEN, MADV_REMOVE}},
    {"dontfork", SYS_madvise, {AT, LEN, MADV_DONTFORK}},
    {"wipeonfork", SYS_madvise, {AT, LEN, MADV_WIPEONFORK}},
    {"dontdump", SYS_madvise, {AT, LEN, MADV_DONTDUMP}},
    {"populate", SYS_madvise, {AT, LEN, 22}},
    {"dontneed-locked", SYS_madvise, {AT, LEN, 24}},
    {"guard", SYS_madvise, {AT, LEN, 102}},
    {"unguard", SYS_madvise, {AT, LEN, 103}},
    {"no-advice", SYS_madvise, {AT, LEN, 77}},
    {"mlock", SYS_mlock, {AT, LEN}},
    {"mlock2", SYS_mlock2, {AT, LEN, 1}},
    {"mlock2-bad", SYS_mlock2, {AT, LEN, 2}},
    {"munlock", SYS_munlock, {AT, LEN}},
    {"msync", SYS_msync, {AT, LEN, MS_SYNC}},
    {"msync-both", SYS_msync, {AT, LEN, MS_SYNC | MS_ASYNC}},
    {"msync-invalidate", SYS_msync, {AT, LEN, MS_INVALIDATE}},
    {"mincore", SYS_mincore, {AT, LEN, GOOD}},
    {"mincore-bad", SYS_mincore, {AT, LEN, END}},
    {"mbind", SYS_mbind, {AT, LEN, 0, 0, 0, 0}},
    {"mbind-strict", SYS_mbind, {AT, LEN, 2, GOOD + 8192, 64, 3}},
    {"home-node", HOME_NODE, {AT, LEN, 0, 0}},
    {"mseal", MSEAL, {AT, LEN, 0}},
    {"mseal-bad", MSEAL, {AT, LEN, 1}},
    {"remap-file", SYS_remap_file_pages, {AT, LEN, 0, 0, 0}},
    {"remap-file-bad", SYS_remap_file_pages, {AT, LEN, 1, 0, 0}},
    {"grow", SYS_mremap, {AT, 4096, LEN, 0}},
    {"shrink", SYS_mremap, {AT, LEN, 4096, 0}},
    {"shrink-move", SYS_mremap, {AT, LEN, 4096, MREMAP_MAYMOVE}},
    {"same", SYS_mremap, {AT, LEN, LEN, MREMAP_MAYMOVE}},
    {"move", SYS_mremap, {AT, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, GOOD + (1 << 28)}},
    {"move-to", SYS_mremap, {GOOD, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, AT}},
    {"keep", SYS_mremap, {AT, LEN, LEN, MREMAP_MAYMOVE | 4}},
    {"nothing", SYS_mremap, {AT, 0, LEN, MREMAP_MAYMOVE}},
    {"hint", SYS_mmap, {AT, LEN, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1ul, 0}},
    {"free-place",
     SYS_mmap,
     {AT, LEN, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1ul, 0}},
    {"process-dontneed", PROCESS_MADVISE, {SELF, GOOD + 16384, 2, MADV_DONTNEED, 0}},
    {"process-cold", PROCESS_MADVISE, {SELF, GOOD + 16384, 2, 20, 0}},
    {"process-bad", PROCESS_MADVISE, {SELF, GOOD + 16384, 2, 20, 1}},
    {"process-guard", PROCESS_MADVISE, {SELF, GOOD + 16384, 2, 102, 0}},
    {"brk", SYS_brk, {AT}},
};
enum { ALL = sizeof FORMS / sizeof *FORMS };
static u64 *results;

static inline long make(long nr, const u64 *a) {
    register long result asm("rax") = nr;
    register u64 r10 asm("r10") = a[3], r8 asm("r8") = a[4], r9 asm("r9") = a[5];
    asm volatile("syscall"
                 : "+r"(result)
                 : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

static void arguments(int form, int call, u64 *args) {
    u64 start = starts[call / LENS], len = LENGTHS[call % LENS];
    if (len == REST) len = END - 4096 - start;
    for (int n = 0; n < ARGS; n++) {
        u64 arg = FORMS[form].args[n];
        args[n] = arg == AT ? start : arg == LEN ? len : arg;
    }
    if (FORMS[form].nr == PROCESS_MADVISE) {
        volatile u64 *pieces = (u64 *)(GOOD + 16384);
        pieces[0] = GOOD, pieces[1] = 4096, pieces[2] = start, pieces[3] = len;
    }
}

static void calls(int form, int from) {
    u64 args[ARGS];
    for (int call = from; call < CALLS; call++) {
        arguments(form, call, args);
        results[call] = BEGUN;
        results[call] = KEPT(make(FORMS[form].nr, args));
    }
    make(SYS_exit_group, (u64[ARGS]){0});
}

static u64 shown(u64 kept) {
    long result = KEPT(kept);
    return result < 0 && result > -4096 ? result : result < 65536 ? result : 0x6f6b;
}

static u64 sweep(int form, int show) {
    u64 sum = 14695981039346656037ul, args[ARGS];
    int call = 0;
    memset(results, 0, CALLS * sizeof *results);
    while (call < CALLS) {
        int status = 0;
        pid_t pid = fork();
        if (!pid) prctl(PR_SET_PDEATHSIG, SIGKILL), calls(form, call);
        waitpid(pid, &status, 0);
        for (int over = 0; !over && call < CALLS; call++) {
            u64 end = results[call];
            over = end == BEGUN || end == 0;
            u64 word = over ? 0x100000 + (status & 0x7f) : shown(end);
            if (show)
                printf("%s(%lx, %lx) %s %ld\n", FORMS[form].name, starts[call / LENS],
                       LENGTHS[call % LENS], over ? "ends" : "=", over ? status & 0x7f : word);
            sum = (sum ^ word) * 1099511628211ul;
        }
    }
    return sum;
}

int main(int count, char **words) {
    results =
        mmap(0, CALLS * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    // Three pages, nothing, and one.
    mmap((void *)GOOD, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
         -1, 0);
    ((u64 *)GOOD)[1024] = 1;
    munmap((void *)GOOD + 3 * 4096, 4096);
    if (!getuid() && (setgroups(0, 0) || setgid(65534) || setuid(65534))) return 95;
    prctl(PR_SET_DUMPABLE, 1);
    for (int form = 0; form < ALL; form++) {
        int one = count > 1 && !strcmp(words[1], FORMS[form].name);
        if (one || count == 1)
            printf("%s: %lx\n", FORMS[form].name, sweep(form, one)), fflush(stdout);
    }
    return 0;
}
