// Jumps by tables that nobody writes to, of distances and of addresses. The program makes them
// writable and changes them, once or for long; has their memory read as the file again; writes to
// it past its protection; takes it away; from a signal handler, another thread, a child. A handler
// makes the index larger than the instructions before it had left it. A register says where the
// table lies: in another place, for a while, or in a file of data.
//@ variants: pie nopie static static-pie
//@ cflags: -O1
//@ libs: -pthread
#include "guest.h"
#include <pthread.h>
enum { N = 3000, PAGE = 4096, INDEX = 5, FAR = 1000 };
extern int distances[PAGE / 4];
extern u64 addresses[PAGE / 8], elsewhere[PAGE / 8];
u64 log_of[3], seen_rax, seen_rcx;
void *at;
asm(".section .steady, \"a\"\n"
    ".balign 4096\ndistances: .globl distances\n"
    ".rept 1024\n.long one - distances\n.endr\n"
    ".section .data.rel.ro, \"aw\"\n"
    ".balign 4096\naddresses: .globl addresses\n"
    ".rept 512\n.quad one\n.endr\n"
    "elsewhere: .globl elsewhere\n"
    ".rept 512\n.quad two\n.endr\n"
    ".text\n"
    // rdi is the index, rsi may be read from.
    ".macro begins\n"
    "mov $7, %eax; mov $6, %ecx; mov $5, %r9d\n"
    "movzbl %dil, %edi\n"
    "mov (%rsi), %r10d\n"
    ".endm\n"
    "stays: begins; lea distances(%rip), %rdx\n"
    "movslq (%rdx,%rdi,4), %rax; add %rdx, %rax; jmp *%rax\n"
    "overwritten: begins; lea distances(%rip), %rdx\n"
    "movslq (%rdx,%rdi,4), %rdi; add %rdx, %rdi; jmp *%rdi\n"
    "in_rcx: begins; mov %edi, %ecx; lea distances(%rip), %r8\n"
    "cmp $255, %rcx; ja three\n"
    "movslq (%r8,%rcx,4), %rcx; add %r8, %rcx; jmp *%rcx\n"
    "address: begins; lea addresses(%rip), %rdx\n"
    "mov (%rdx,%rdi,8), %rdi; jmp *%rdi\n"
    "memory: begins; lea addresses(%rip), %rdx\n"
    "jmp *(%rdx,%rdi,8)\n"
    "callee: movzbl %dil, %edi; mov (%rsi), %r10d; lea distances(%rip), %rdx\n"
    "movslq (%rdx,%rdi,4), %rdi; add %rdx, %rdi; jmp *%rdi\n"
    "by_call: mov $7, %eax; mov $5, %r9d; call callee; ret\n"
    "held: begins; mov at(%rip), %rdx; jmp *(%rdx,%rdi,8)\n"
    "held_kept: begins; mov at(%rip), %r8; mov %edi, %eax\n"
    "mov (%r8,%rax,8), %rax; lea 1(%rcx), %rcx; jmp *%rax\n"
    "held_in_rcx: begins; mov %edi, %ecx; mov at(%rip), %r8\n"
    "movslq (%r8,%rcx,4), %rcx; add %r8, %rcx; jmp *%rcx\n"
    "known_kept: begins; lea addresses(%rip), %r8; mov %edi, %eax\n"
    "mov (%r8,%rax,8), %rax; lea 1(%rcx), %rcx; jmp *%rax\n"
    ".macro came to, sum\n"
    "mov %rax, seen_rax(%rip); mov %rcx, seen_rcx(%rip)\n"
    "incq log_of+8*\\to(%rip); lea \\sum(%r9), %rax; ret\n"
    ".endm\n"
    "one: came 0, 11\n"
    "two: came 1, 21\n"
    "three: came 2, 31\n"
    "called_again: lea 8(%rsp), %rsp\n"
    "again: mov $5, %edi; jmp *by(%rip)\n");
u64 stays(u64, void *), overwritten(u64, void *), in_rcx(u64, void *);
u64 address(u64, void *), memory(u64, void *), by_call(u64, void *), held(u64, void *);
u64 held_kept(u64, void *), held_in_rcx(u64, void *), known_kept(u64, void *);
extern u8 one[], two[], three[], again[], called_again[];
u64 (*by)(u64, void *);
static u8 *const all[] = {one, two, three};
static const u64 comes_to[] = {16, 26, 36};
static int of_addresses, readable, keeps_rax;
static void *table(void) { return of_addresses ? (void *)addresses : (void *)distances; }
static void protect(int protection) { CHECK(mprotect(table(), PAGE, protection) == 0); }
static void put(int index, u8 *to) {
    if (of_addresses) ((volatile u64 *)addresses)[index] = (u64)to;
    else ((volatile int *)distances)[index] = (int)(to - (u8 *)distances);
}
static void change(u8 *to) {
    protect(PROT_READ | PROT_WRITE);
    put(INDEX, to);
    protect(PROT_READ);
}
// So many times to one of the three, and beside it to the first.
static void goes(int which, int times) {
    for (int i = 0; i < times; i++) {
        SAME(by(INDEX, &readable), comes_to[which]);
        if (keeps_rax) SAME(seen_rax, 7);
        if (by == held) SAME(seen_rcx, 6);
        if (by == held_kept || by == known_kept) SAME(seen_rcx, 7);
        SAME(by(INDEX + 1 + i % 200, &readable), comes_to[0]);
    }
}
static void changes(void) {
    goes(0, N);
    for (int i = 1; i < 10; i++) {
        change(all[i % 3]);
        goes(i % 3, i % 2 ? N : 1);
    }
    protect(PROT_READ | PROT_WRITE);
    for (int i = 0; i < N; i++) {
        put(INDEX, all[i % 3]);
        goes(i % 3, 1);
    }
    change(one);
    goes(0, N);
}
// A table that the jump does not get to know, before and behind one that it does.
static void in_another_place(void) {
    for (int i = 0; i < 3; i++) {
        at = elsewhere;
        for (int n = 0; n < (i == 2 ? N : 3); n++) SAME(by(INDEX, &readable), comes_to[1]);
        at = addresses;
        goes(0, N);
    }
}
// One in a file of data, which is written to: its pages are the file's.
static void in_a_data_file(void) {
    char name[] = "/tmp/steady-XXXXXX";
    int file = mkstemp(name);
    CHECK(unlink(name) == 0 && write(file, addresses, PAGE) == PAGE);
    at = mmap(0, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
    CHECK(at != MAP_FAILED);
    goes(0, N);
    for (int i = 2; i >= 0; i--) {
        CHECK(pwrite(file, &all[i], 8, INDEX * 8) == 8);
        goes(i, N);
    }
    munmap(at, PAGE), close(file);
    at = addresses;
}
static void write_past(int own, u8 *to) {
    u64 value = of_addresses ? (u64)to : (u64)(to - (u8 *)distances);
    size_t len = of_addresses ? 8 : 4;
    off_t at = (off_t)(u64)table() + INDEX * (off_t)len;
    CHECK(pwrite(own, &value, len, at) == (ssize_t)len);
}
static void by_file(void) {
    int own = open("/proc/self/mem", O_RDWR);
    for (int i = 2; i >= 0; i--) {
        write_past(own, all[i]);
        goes(i, N);
    }
    close(own);
}
// Before the memory is another: the file's contents. (Nobody has relocated those of addresses, and
// what was taken away is a file's no more.)
static void as_in_the_file(void) {
    if (of_addresses || by != stays) return;
    int status, child = fork();
    if (child == 0) {
        change(two);
        goes(1, N);
        CHECK(madvise(distances, PAGE, MADV_DONTNEED) == 0);
        goes(0, N);
        exit(failures);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    goes(0, N);
}
static volatile int changed, asked;
static void tick(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info, (void)context;
    change(three);
}
// Round and round, until a signal handler changes the table.
static void round_and_round(void) {
    on(SIGALRM, tick, 0);
    struct itimerval soon = {{0, 0}, {0, 3000}};
    for (int i = 0; i < 3; i++) {
        change(by == by_call ? called_again : again);
        setitimer(ITIMER_REAL, &soon, 0);
        SAME(by(INDEX, &readable), 36);
    }
    change(one);
}
static void *other(void *unused) {
    for (int i = 1; i <= 40; i++) {
        while (asked != i) sched_yield();
        change(all[i % 3]);
        __atomic_store_n(&changed, i, __ATOMIC_RELEASE);
    }
    return unused;
}
static void by_another_thread(void) {
    pthread_t thread;
    asked = changed = 0;
    pthread_create(&thread, 0, other, 0);
    for (int i = 1; i <= 40; i++) {
        goes((i - 1) % 3, 50);
        asked = i;
        while (__atomic_load_n(&changed, __ATOMIC_ACQUIRE) != i) sched_yield();
        goes(i % 3, 50);
    }
    pthread_join(thread, 0);
}
static int faults;
static u64 saved[PAGE / 8];
static void fault(int sig, siginfo_t *info, void *context) {
    (void)sig;
    faults++;
    SAME(GREG(context, REG_R9), 5);
    if (info->si_addr == 0) {
        // What is read before the jump: the index is another from here on.
        GREG(context, REG_RSI) = (greg_t)&readable;
        GREG(context, REG_RDI) = of_addresses ? FAR / 2 : FAR;
        return;
    }
    SAME((u64)info->si_addr - (u64)table(), INDEX * (of_addresses ? 8 : 4));
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    CHECK(mmap(table(), PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) == table());
    memcpy(table(), saved, PAGE);
    put(INDEX, two);
    protect(PROT_READ);
}
// The table cannot be read: the fault comes where it is read, which is done again.
static void taken_away(void) {
    memcpy(saved, table(), PAGE);
    faults = 0;
    goes(0, N);
    protect(PROT_NONE);
    goes(1, N);
    CHECK(munmap(table(), PAGE) == 0);
    goes(1, N);
    SAME(faults, 2);
    change(one);
}
static void with_a_larger_index(void) {
    protect(PROT_READ | PROT_WRITE);
    put(of_addresses ? FAR / 2 : FAR, two);
    protect(PROT_READ);
    faults = 0;
    for (int i = 0; i < N; i++) {
        goes(0, 1);
        // (in_rcx looks at the index again.)
        SAME(by(INDEX, 0), comes_to[by == in_rcx ? 2 : 1]);
    }
    SAME(faults, N);
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
static void all_of_it(u64 (*how)(u64, void *), int has_addresses) {
    by = how, of_addresses = has_addresses;
    keeps_rax = by != stays && by != held_kept && by != known_kept;
    at = table();
    on(SIGSEGV, fault, 0);
    change(one);
    if (by == held) in_a_data_file();
    if (by == held || by == held_kept) in_another_place();
    changes();
    by_file();
    as_in_the_file();
    in_a_child();
    round_and_round();
    by_another_thread();
    change(one);
    with_a_larger_index();
    taken_away();
}
int main(void) {
    all_of_it(stays, 0);
    all_of_it(overwritten, 0);
    all_of_it(in_rcx, 0);
    all_of_it(by_call, 0);
    all_of_it(address, 1);
    all_of_it(memory, 1);
    all_of_it(held, 1);
    all_of_it(held_kept, 1);
    all_of_it(held_in_rcx, 0);
    all_of_it(known_kept, 1);
    FINISH();
}
