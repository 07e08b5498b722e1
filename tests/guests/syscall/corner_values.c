// All system calls, and numbers that are none, with corner values for each argument: the same
// result, and the same end, whoever makes them. With a number as argument each call is shown.
//@ cflags: -fno-stack-protector
//@ timeout: 60
#include "guest.h"
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { ARGS = 6, NUMBERS = 475, CHILDREN = 12, MAP_SHADOW_STACK = 453, UNTOUCHED = 0 };
// Results are kept so that none is UNTOUCHED.
#define KEPT(result) ((result) ^ 0x5a5a5a5a5a5a5a5aul)
#define BEGUN 0x0123456789abcdeful

static const long OTHERS[] = {511,     512,        600,        1023,       65535,
                              0x10000, 0x40000000, 0x7fffffff, 0x80000000, 0xffffffff};

// Not called: they change or stop the machine, wait for ever, or do what cannot be told apart.
static const struct { int first, last; const char *why; } LEFT_OUT[] = {
    {SYS_rt_sigreturn, SYS_rt_sigreturn, "restores what lies on the stack"},
    {SYS_sched_yield, SYS_sched_yield, "on a busy machine takes seconds, thousands of times"},
    {SYS_pause, SYS_pause, "waits"},
    {SYS_clone, SYS_vfork, "children; see process/"},
    {SYS_kill, SYS_kill, "groups of processes"},
    {SYS_ptrace, SYS_ptrace, "stops; see process/"},
    {SYS_vhangup, SYS_vhangup, "the terminal"},
    {SYS_getpriority, SYS_setpriority, "all processes of the user"},
    {SYS_ioprio_set, SYS_ioprio_get, "all processes of the user"},
    {SYS_syslog, SYS_syslog, "the kernel's log"},
    {SYS_settimeofday, SYS_settimeofday, "the clock"},
    {SYS_acct, SYS_acct, "accounting"},
    {SYS_sync, SYS_sync, "waits for all disks"},
    {SYS_swapon, SYS_setdomainname, "the machine"},
    {SYS_init_module, SYS_delete_module, "the machine"},
    {SYS_clock_settime, SYS_clock_settime, "the clock"},
    {SYS_kexec_load, SYS_kexec_load, "the machine"},
    {SYS_finit_module, SYS_finit_module, "the machine"},
    {SYS_kexec_file_load, SYS_kexec_file_load, "the machine"},
    {SYS_clone3, SYS_clone3, "children; see process/"},
    {SYS_shmget, SYS_shmget, "segments that stay"},
    {SYS_semget, SYS_semget, "semaphores that stay"},
    {SYS_msgget, SYS_msgget, "queues that stay"},
    {SYS_close_range, SYS_close_range, "takes milliseconds for billions of descriptors"},
};
// Only whether they failed: what they give depends on the moment.
static const int VARIES[] = {
    SYS_getpid,       SYS_gettid,
    SYS_getppid,      SYS_getpgrp,
    SYS_getpgid,      SYS_getsid,
    SYS_setsid,       SYS_time,
    SYS_times,        SYS_set_tid_address,
    SYS_mmap,         SYS_mremap,
    SYS_brk,          SYS_shmat,
    SYS_timer_create, SYS_getrandom,
    SYS_getcwd,       SYS_add_key,
    SYS_keyctl,       SYS_request_key,
    SYS_getcpu,       SYS_inotify_add_watch,
    MAP_SHADOW_STACK, SYS_alarm,
};

// Pages of memory, at an address that is the same in each run, as it is also taken for numbers
// and flags: zeroes, ones, pointers with lengths, zeroes that are read-only, nothing.
#define GOOD 0x20000000ul
static u64 values[] = {0,
                       1,
                       -1ul,
                       4095,
                       4096,
                       -4096ul,
                       -4095ul,
                       1ul << 31,
                       1ul << 32,
                       1ul << 47,
                       (1ul << 47) - 4096,
                       1ul << 63,
                       GOOD,
                       GOOD + 4096,
                       GOOD + 2 * 4096,
                       GOOD + 3 * 4096,
                       GOOD + 4 * 4096 - 1};
enum { VALUES = sizeof values / sizeof *values };
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

// Five bases (zeroes, ones, pointers to zeroes, to ones, to pointers and lengths), and in each
// of them one argument takes each value.
// Then, with zeroes and with pointers to zeroes, the first four each small number; then any
// of the values together.
enum {
    BASES = 5,
    CORNERS = BASES * ARGS * VALUES,
    SMALLS = 2 * 4 * 100,
    MIXED = 600,
    CALLS = CORNERS + SMALLS + MIXED
};
static void arguments(int call, u64 *args) {
    static const int BASE[BASES] = {0, 2, VALUES - 5, VALUES - 4, VALUES - 3};
    if (call >= CORNERS + SMALLS) {
        u64 random = call * 0x9e3779b97f4a7c15ul;
        for (int n = 0; n < ARGS;
             n++, random = random * 6364136223846793005ul + 1442695040888963407ul)
            args[n] = values[(random >> 40) % VALUES];
        return;
    }
    if (call >= CORNERS) {
        call -= CORNERS;
        for (int n = 0; n < ARGS; n++) args[n] = call % 2 ? GOOD : 0;
        args[call / 2 % 4] = call / 8;
        return;
    }
    for (int n = 0; n < ARGS; n++) args[n] = values[BASE[call / (ARGS * VALUES)]];
    args[call / VALUES % ARGS] = values[call % VALUES];
}

static int left_out(long nr) {
    for (unsigned n = 0; n < sizeof LEFT_OUT / sizeof *LEFT_OUT; n++)
        if (LEFT_OUT[n].first <= nr && nr <= LEFT_OUT[n].last) return 1;
    return 0;
}

// Which argument of a call is the number of a process, from 1; 0: none.
static int process_argument(long nr) {
    switch (nr) {
    case SYS_setpgid:
    case SYS_getpgid:
    case SYS_getsid:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
    case SYS_sched_setparam ... SYS_sched_rr_get_interval:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_sched_setaffinity:
    case SYS_sched_getaffinity:
    case SYS_migrate_pages:
    case SYS_get_robust_list:
    case SYS_move_pages:
    case SYS_prlimit64:
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
    case SYS_kcmp:
    case SYS_sched_setattr:
    case SYS_sched_getattr:
    case 434: case SYS_wait4: case SYS_capget: case SYS_capset: return 1;
    case SYS_getpriority:
    case SYS_setpriority:
    case SYS_ioprio_set:
    case SYS_ioprio_get:
    case SYS_waitid:
    case SYS_perf_event_open: return 2;
    }
    return 0;
}

// What would wait without end, or depends on which other processes there are, one by one.
static int waits(long nr, const u64 *a) {
    int process = process_argument(nr);
    if (process && (u32)a[process - 1] > 1 && (u32)a[process - 1] < 1 << 22) return 1;
    if (nr == SYS_kcmp && (u32)a[1] > 1 && (u32)a[1] < 1 << 22) return 1;
    switch (nr) {
    case SYS_poll: return (int)a[2] < 0 || (int)a[2] > 1;
    case SYS_select: case SYS_pselect6: return a[4] != GOOD;
    case SYS_ppoll: return a[2] != GOOD;
    case SYS_rt_sigtimedwait: return a[2] != GOOD;
    case SYS_rt_sigsuspend: return 1;
    case SYS_alarm: return 1;
    case SYS_futex: return !a[3];
    case SYS_setrlimit: return (u32)a[0] == 0;
    case SYS_prlimit64: return (u32)a[1] == 0;
    }
    return 0;
}

static void calls(long nr, int from) {
    u64 args[ARGS];
    for (int call = from; call < CALLS; call++) {
        arguments(call, args);
        if (waits(nr, args)) { results[call] = KEPT(-1000); continue; }
        results[call] = BEGUN;
        results[call] = KEPT(make(nr, args));
    }
    make(SYS_exit_group, (u64[ARGS]){0});
}

static void child(long nr, int from) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = 0; fd < 3; fd++) dup2(3, fd);
    close(3), close(4);
    struct itimerval patience = {{0, 0}, {5, 0}};
    setitimer(ITIMER_REAL, &patience, 0);
    calls(nr, from);
}

static u64 shown(long nr, u64 kept) {
    long result = KEPT(kept);
    if (result < 0 && result > -4096) return result;
    for (unsigned n = 0; n < sizeof VARIES / sizeof *VARIES; n++)
        if (VARIES[n] == nr) return 0x6f6b;
    return result;
}

// All calls of this number, in a child, and in another one after each that has ended it; what
// became of each.
static u64 sweep(long nr, int show) {
    u64 sum = 14695981039346656037ul, args[ARGS];
    int call = 0;
    memset(results, 0, CALLS * sizeof *results);
    for (int children = 0; call < CALLS && children < CHILDREN; children++) {
        int status = 0;
        pid_t pid = fork();
        if (!pid) child(nr, call);
        waitpid(pid, &status, 0);
        do {
            u64 end = results[call];
            int over = end == BEGUN || end == UNTOUCHED;
            u64 word = over ? 0x100000 + status : shown(nr, end);
            if (show) {
                arguments(call, args);
                printf("%ld(", nr);
                for (int n = 0; n < ARGS; n++)
                    printf("%lx%s", args[n], n < ARGS - 1 ? ", " : ") = ");
                over ? printf("ends %x\n", status) : printf("%ld\n", (long)word);
            }
            sum = (sum ^ word) * 1099511628211ul;
            call++;
            if (over) break;
        } while (call < CALLS);
    }
    return sum;
}

int main(int count, char **words) {
    signal(SIGCHLD, SIG_DFL);
    results =
        mmap(0, CALLS * sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    u8 *good = mmap((void *)GOOD, 5 * 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(good + 4096, 0xff, 4096);
    for (int n = 0; n < 512; n++) ((u64 *)good)[1024 + n] = n % 2 ? 1ul << 46 : GOOD;
    mprotect(good + 3 * 4096, 4096, PROT_READ), mprotect(good + 4 * 4096, 4096, PROT_NONE);
    int null = open("/dev/null", O_RDWR), out = dup(1);
    if (null != 3 || out != 4) return printf("%d %d\n", null, out), 98;
    if (chdir("/")) return 96;
    if (!getuid() && (setgroups(0, 0) || setgid(65534) || setuid(65534))) return 95;
    prctl(PR_SET_DUMPABLE, 1);
    setrlimit(RLIMIT_NPROC, &(struct rlimit){300, 300});
    long one = count > 1 ? atol(words[1]) : -1;
    for (long nr = 0; nr < NUMBERS; nr++)
        if (!left_out(nr) && (one < 0 || one == nr))
            printf("%ld: %lx\n", nr, sweep(nr, one == nr)), fflush(stdout);
    for (unsigned n = 0; n < sizeof OTHERS / sizeof *OTHERS && one < 0; n++)
        printf("%ld: %lx\n", OTHERS[n], sweep(OTHERS[n], 0));
    return 0;
}
