// A process that asks to be traced keeps its handlers, masks, what is pending and its
// alternate stack: newer kernels do not set that from a return on another one.
//@ variants: pie static
#include "guest.h"
#include <sys/ptrace.h>
#include <sys/user.h>

static volatile int handled, on_stack;
static char stack[32768];

static void handler(int signal) {
    char here;
    handled |= 1 << signal;
    on_stack = &here > stack && &here < stack + sizeof stack;
}

// Two signals are handled on their own stack, one of them waits while it is blocked.
static void traced(void) {
    sigset_t set, old;
    stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack}, now;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK}, before;
    sigaltstack(&alt, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    signal(SIGUSR2, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGSEGV);
    CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
    CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) == -1 && errno == EPERM);
    raise(SIGSTOP);
    sigprocmask(SIG_BLOCK, NULL, &old);
    CHECK(sigismember(&old, SIGSEGV) == 1 && sigismember(&old, SIGHUP) == 1);
    CHECK(sigismember(&old, SIGUSR1) == 0);
    sigpending(&old);
    CHECK(sigismember(&old, SIGSEGV) == 1);
    raise(SIGUSR1);
    CHECK(handled == 1 << SIGUSR1 && on_stack);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    CHECK(handled == (1 << SIGUSR1 | 1 << SIGSEGV) && on_stack);
    sigaction(SIGUSR2, NULL, &before);
    CHECK(before.sa_handler == SIG_IGN);
    sigaltstack(NULL, &now);
    CHECK(now.ss_sp == stack && now.ss_size == sizeof stack && now.ss_flags == 0);
    getpid();
    fflush(stdout);
    _exit(failures ? 1 : 7);
}

// Where the program has its own code.
static int is_the_programs(unsigned long long pc) {
    char line[512];
    unsigned long long start, end;
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%llx-%llx", &start, &end) == 2 && pc >= start && pc < end)
            found = strstr(line, "traced_signals") || strstr(line, "libc");
    fclose(maps);
    return found;
}

static void show(pid_t child, int status) {
    struct user_regs_struct regs;
    ptrace(PTRACE_GETREGS, child, 0, &regs);
    printf("status %#x call %lld gs %llx own %d\n", status, (long long)regs.orig_rax,
           regs.gs_base, is_the_programs(regs.rip));
}

static long passed(int status) {
    int signal = WSTOPSIG(status) & 0x7f;
    return signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
}

int main(void) {
    int status, steps = 0;
    pid_t child = fork();
    if (child == 0)
        traced();
    waitpid(child, &status, 0);
    show(child, status);
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
    for (int n = 0; n < 4; n++) {
        ptrace(PTRACE_SYSCALL, child, 0, 0);
        waitpid(child, &status, 0);
        show(child, status);
    }
    for (; steps < 200 && WIFSTOPPED(status); steps++) {
        ptrace(PTRACE_SINGLESTEP, child, 0, passed(status));
        waitpid(child, &status, 0);
        if (steps < 50)
            show(child, status);
    }
    while (WIFSTOPPED(status)) {
        ptrace(PTRACE_CONT, child, 0, passed(status));
        waitpid(child, &status, 0);
        if (WIFSTOPPED(status))
            show(child, status);
    }
    printf("%d steps, ended %d\n", steps, WEXITSTATUS(status));
    FINISH();
}
