// A program with two threads that clears all memory around its own by ranges: it, its threads,
// its children and its signals go on, and each call says what it says of memory without mappings.
//@ variants: pie
//@ libs: -pthread
#include "guest.h"
#include <pthread.h>
#include <sys/uio.h>

extern char __executable_start[];
enum { LOWEST = 0x100000, PROCESS_MADVISE = 440, MSEAL = 462, SELF = -10000 };
static volatile int stop, turns;
static int hits;
static void handler(int signal, siginfo_t *info, void *context) { hits++; }
static int error(long result) { return result < 0 ? errno : 0; }

static void *turn(void *unused) {
    while (!stop) turns++, sched_yield();
    return 0;
}

static void works(void) {
    u8 *code = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    int before = hits, seen = turns;
    emit_return(code, 7);
    SAME(((function)code)(), 7);
    raise(SIGUSR1);
    SAME(hits, before + 1);
    while (turns == seen) sched_yield();
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) raise(SIGUSR1), _exit(((function)code)() + hits - before);
    report_child("child", pid);
}

int main(void) {
    void *from = (void *)LOWEST;
    u64 size = (u64)__executable_start - LOWEST;
    static const int ADVICE[] = {
        MADV_DONTNEED, MADV_FREE, MADV_DONTFORK, MADV_WIPEONFORK, 24, 102, 20, 21, 3,
        MADV_DONTDUMP};
    pthread_t other;
    u64 all[] = {0, 4096, LOWEST, size};
    pthread_create(&other, 0, turn, 0);
    on(SIGUSR1, handler, 0);
    for (unsigned n = 0; n < sizeof ADVICE / sizeof *ADVICE; n++) {
        printf("advice %d: %d\n", ADVICE[n], error(madvise(from, size, ADVICE[n])));
        works();
        printf("of two: %d\n", error(syscall(PROCESS_MADVISE, SELF, all + 2, 1, ADVICE[n], 0)));
        works();
    }
    printf("%d %d %d\n", error(mprotect(from, size, PROT_NONE)), error(mlock(from, size)),
           error(munlock(from, size)));
    printf("%d %d\n", error(msync(from, size, MS_SYNC)), error(syscall(MSEAL, from, size, 0)));
    works();
    for (int n = 0; n < 3; n++) {
        SAME(munmap(from, size), 0);
        works();
    }
    // One page is left of a great mapping: the rest goes, whatever is there.
    u8 *page =
        mmap(from, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    *page = 5;
    SAME((u64)mremap(page, size, 4096, 0), (u64)page);
    SAME(*page, 5);
    works();
    SAME((u64)mremap(page + 4096, size - 4096, 4096, 0), -1);
    SAME(errno, EFAULT);
    stop = 1;
    pthread_join(other, 0);
    FINISH();
}
