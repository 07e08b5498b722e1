// Jumps and calls through a cell that the loader makes read-only, as it does with those for
// other images. The program makes it writable again and changes it, once or for long; has its
// memory read as the file again; writes to it past its protection; takes it away; from a signal
// handler, another thread, a child.
//@ variants: pie nopie static static-pie
//@ cflags: -O1
//@ libs: -pthread
#include "guest.h"
#include <pthread.h>
enum { N = 3000, PAGE = 4096 };
extern u64 cell;
u64 log_of[3], seen_flags;
asm(".section .data.rel.ro, \"aw\"\n"
    ".balign 4096\ncell: .globl cell\n.quad one\n.zero 4088\n"
    ".text\n"
    // All status flags are 1, and all registers of arguments are as they were.
    "by_jump: mov $0x8d5, %eax; push %rax; popf; mov $5, %eax; mov $6, %ecx\n"
    "jump: jmp *cell(%rip)\n"
    "by_call: mov $0x8d5, %eax; push %rax; popf; mov $5, %eax; mov $6, %ecx\n"
    "call: call *cell(%rip)\nret\n"
    "one: pushf; popq seen_flags(%rip); incq log_of(%rip); lea (%rax,%rcx), %rax; ret\n"
    "two: pushf; popq seen_flags(%rip); incq log_of+8(%rip); lea (%rax,%rcx,2), %rax; ret\n"
    "three: pushf; popq seen_flags(%rip); incq log_of+16(%rip); lea (%rax,%rcx,4), %rax; ret\n"
    "round_by_jump: jmp by_jump\n"
    "round_by_call: lea 8(%rsp), %rsp; jmp by_call\n");
u64 by_jump(void), by_call(void);
extern u8 jump[], call[], one[], two[], three[], round_by_jump[], round_by_call[];
static u64 (*by)(void);
static u8 *branch;
static u8 *const all[] = {one, two, three};
static const u64 comes_to[] = {11, 17, 29};
static void protect(int protection) { CHECK(mprotect(&cell, PAGE, protection) == 0); }
static void set(u8 *to) { *(volatile u64 *)&cell = (u64)to; }
static void change(u8 *to) {
    protect(PROT_READ | PROT_WRITE);
    set(to);
    protect(PROT_READ);
}
static void goes(int which, int times) {
    for (int i = 0; i < times; i++) {
        seen_flags = 0;
        SAME(by(), comes_to[which]);
        SAME(seen_flags & 0x8d5, 0x8d5);
    }
}
// Sealed again after each change, and left open.
static void changes(void) {
    goes(0, N);
    for (int i = 1; i < 10; i++) {
        change(all[i % 3]);
        goes(i % 3, i % 2 ? N : 1);
    }
    protect(PROT_READ | PROT_WRITE);
    for (int i = 0; i < N; i++) {
        set(all[i % 3]);
        goes(i % 3, 1);
    }
    change(one);
    goes(0, N);
}
// Past the protection.
static void by_file(void) {
    int own = open("/proc/self/mem", O_RDWR);
    u64 to = (u64)three;
    CHECK(pwrite(own, &to, sizeof to, (off_t)(u64)&cell) == sizeof to);
    goes(2, N);
    to = (u64)two;
    CHECK(pwrite(own, &to, sizeof to, (off_t)(u64)&cell) == sizeof to);
    goes(1, N);
    close(own);
}
static u64 fault_at, fault_of;
static int repairs;
static void fault(int sig, siginfo_t *info, void *context) {
    (void)sig;
    fault_at = GREG(context, REG_RIP), fault_of = (u64)info->si_addr;
    SAME(GREG(context, REG_RAX), 5);
    SAME(GREG(context, REG_RCX), 6);
    if (fault_at != (u64)branch) {
        GREG(context, REG_RIP) = (u64)one;
        return;
    }
    repairs++;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    CHECK(mmap(&cell, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) == &cell);
    set(two);
    protect(PROT_READ);
}
// The cell cannot be read: the fault is the branch's, which is made again.
static void goes_when_mended(void) {
    fault_at = fault_of = 0;
    goes(1, 1);
    SAME(fault_at, (u64)branch);
    SAME(fault_of, (u64)&cell);
    goes(1, N);
}
static void taken_away(void) {
    on(SIGSEGV, fault, 0);
    change(one);
    goes(0, N);
    protect(PROT_NONE);
    goes_when_mended();
    CHECK(munmap(&cell, PAGE) == 0);
    goes_when_mended();
    void *there = pages(1, PROT_READ);
    CHECK(mremap(&cell, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, there) == there);
    goes_when_mended();
    SAME(repairs, 3);
    repairs = 0;
    // What is anonymous reads as zeroes then.
    CHECK(madvise(&cell, PAGE, MADV_DONTNEED) == 0);
    fault_at = 1;
    goes(0, 1);
    SAME(fault_at, 0);
}
// Before the memory is another: the file's contents, which nobody has relocated.
static void as_in_the_file(void) {
    int status, child = fork();
    if (child == 0) {
        on(SIGSEGV, fault, 0);
        CHECK(madvise(&cell, PAGE, MADV_DONTNEED) == 0);
        u64 now = *(volatile u64 *)&cell;
        goes(0, 1);
        SAME(fault_at, now == (u64)one ? 0 : now);
        exit(failures);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    goes(1, N);
}
static volatile int changed, asked;
static void tick(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info, (void)context;
    change(one);
}
// Round and round, until a signal handler changes the cell.
static void round_and_round(void) {
    on(SIGALRM, tick, 0);
    struct itimerval soon = {{0, 0}, {0, 3000}};
    for (int i = 0; i < 3; i++) {
        change(by == by_jump ? round_by_jump : round_by_call);
        setitimer(ITIMER_REAL, &soon, 0);
        SAME(by(), 11);
    }
}
static void *other(void *unused) {
    for (int i = 1; i <= 300; i++) {
        while (asked != i) sched_yield();
        change(all[i % 3]);
        __atomic_store_n(&changed, i, __ATOMIC_RELEASE);
    }
    return unused;
}
// Who hears that another thread has changed it goes there.
static void by_another_thread(void) {
    pthread_t thread;
    asked = 0;
    pthread_create(&thread, 0, other, 0);
    for (int i = 1; i <= 300; i++) {
        goes((i - 1) % 3, 50);
        asked = i;
        while (__atomic_load_n(&changed, __ATOMIC_ACQUIRE) != i) sched_yield();
        goes(i % 3, 50);
    }
    pthread_join(thread, 0);
}
static void in_a_child(void) {
    int status, child = fork();
    if (child == 0) {
        goes(0, N);
        change(two);
        goes(1, N);
        exit(failures);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    goes(0, N);
}
static void all_of_it(u64 (*how)(void), u8 *at) {
    by = how, branch = at;
    change(one);
    changes();
    by_file();
    as_in_the_file();
    change(one);
    in_a_child();
    round_and_round();
    by_another_thread();
    taken_away();
}
int main(void) {
    all_of_it(by_jump, jump);
    all_of_it(by_call, call);
    FINISH();
}
