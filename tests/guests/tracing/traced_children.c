// A tracer meets the program's own registers, code and system calls in children that ask
// to be traced, and in those that it attaches to: breakpoints, steps, stops at system
// calls, signals, registers and memory poked.
//@ variants: pie nopie static
#include "guest.h"
#include <sys/ptrace.h>
#include <sys/user.h>

static int counter = 5;
__attribute__((noinline)) static void visited(void) {
    __asm__ volatile("nop");
    counter++;
}

static struct user_regs_struct regs_of(pid_t child) {
    struct user_regs_struct regs;
    memset(&regs, 0, sizeof regs);
    ptrace(PTRACE_GETREGS, child, 0, &regs);
    return regs;
}

static void show(const char *what, pid_t child) {
    int status;
    waitpid(child, &status, 0);
    if (WIFSTOPPED(status)) {
        struct user_regs_struct regs = regs_of(child);
        u64 inside = regs.rip - (u64)visited;
        printf("%s: stopped by %x, call %lld, rax %lld, %s %lx\n", what, WSTOPSIG(status),
               (long long)regs.orig_rax,
               regs.orig_rax == SYS_getppid ? 0 : (long long)regs.rax & 0xffff,
               inside < 32 ? "in visited" : "elsewhere", inside < 32 ? inside : 0);
    } else if (WIFSIGNALED(status))
        printf("%s: killed by %d\n", what, WTERMSIG(status));
    else
        printf("%s: exit %d\n", what, WEXITSTATUS(status));
    fflush(stdout);
}

static pid_t begin(void (*child)(void)) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        child();
        _exit(counter);
    }
    return pid;
}

static void stops_and_works(void) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    kill(getpid(), SIGSTOP);
    visited();
    visited();
    syscall(SYS_getppid);
    syscall(SYS_getuid);
}

static void breakpoint_and_steps(pid_t child) {
    long poked = ptrace(PTRACE_PEEKDATA, child, &counter, 0) + 10;
    ptrace(PTRACE_POKEDATA, child, &counter, poked);
    long code = ptrace(PTRACE_PEEKTEXT, child, visited, 0);
    ptrace(PTRACE_POKETEXT, child, visited, (code & ~0xffl) | 0xcc);
    ptrace(PTRACE_CONT, child, 0, 0);
    show("breakpoint", child);
    struct user_regs_struct regs = regs_of(child);
    regs.rip--;
    ptrace(PTRACE_SETREGS, child, 0, &regs);
    ptrace(PTRACE_POKETEXT, child, visited, code);
    for (int i = 0; i < 3; i++) {
        ptrace(PTRACE_SINGLESTEP, child, 0, 0);
        show("step", child);
    }
}

static void system_calls(pid_t child) {
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
    for (int i = 0; i < 5; i++) {
        ptrace(PTRACE_SYSCALL, child, 0, 0);
        show("call", child);
    }
    ptrace(PTRACE_CONT, child, 0, 0);
    show("end", child);
}

static void handler(int signal) { counter += signal; }

static void signals_itself(void) {
    signal(SIGUSR1, handler);
    signal(SIGUSR2, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, 0);
    raise(SIGTERM); // stays pending
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGUSR1);
    raise(SIGUSR2);
    sigpending(&set);
    counter += 100 * sigismember(&set, SIGTERM);
    *(volatile int *)8 = 1;
}

static void signals(void) {
    pid_t child = begin(signals_itself);
    for (int i = 0; i < 2; i++) {
        show("signal", child);
        ptrace(PTRACE_CONT, child, 0, i ? SIGUSR2 : SIGUSR1);
    }
    show("fault", child);
    printf("counter %ld\n", ptrace(PTRACE_PEEKDATA, child, &counter, 0) & 0xffff);
    ptrace(PTRACE_CONT, child, 0, SIGSEGV);
    show("end", child);
}

static volatile int *computing;

static void waits(void) {
    for (;;) pause();
}
static void computes(void) {
    for (long i = 0;; i++) {
        visited();
        *computing = 1;
    }
}

static int in_pause(pid_t child) {
    char path[64], text[64] = "";
    sprintf(path, "/proc/%d/syscall", child);
    int file = open(path, O_RDONLY);
    SAME(read(file, text, sizeof text - 1) > 0, 1);
    close(file);
    return atoi(text) == SYS_pause && text[0] == '3';
}

static void attached(void (*work)(void), int seize) {
    *computing = 0;
    pid_t child = begin(work);
    while (work == waits ? !in_pause(child) : !*computing) usleep(1000);
    printf("attach %ld\n", ptrace(seize ? PTRACE_SEIZE : PTRACE_ATTACH, child, 0, 0));
    if (seize) printf("interrupt %ld\n", ptrace(PTRACE_INTERRUPT, child, 0, 0));
    int status;
    waitpid(child, &status, 0);
    struct user_regs_struct regs = regs_of(child);
    printf("stopped by %x, %s\n", WSTOPSIG(status),
           regs.orig_rax == SYS_pause ? "in pause" : "computing");
    if (work == computes) {
        ptrace(PTRACE_SINGLESTEP, child, 0, 0);
        waitpid(child, &status, 0);
        u64 after = regs_of(child).rip;
        printf("near: %d, step %x\n", after - (u64)computes + 4096 < 8192, WSTOPSIG(status));
    }
    ptrace(PTRACE_DETACH, child, 0, 0);
    usleep(1000);
    printf("attach again %ld\n", ptrace(PTRACE_ATTACH, child, 0, 0));
    waitpid(child, &status, 0);
    kill(child, SIGKILL);
    show("killed", child);
}

int main(void) {
    computing = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = begin(stops_and_works);
    show("first", child);
    breakpoint_and_steps(child);
    system_calls(child);
    signals();
    for (int seize = 0; seize < 2; seize++) {
        attached(waits, seize);
        attached(computes, seize);
    }
    return 0;
}
