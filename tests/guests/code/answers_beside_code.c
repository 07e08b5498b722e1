// System calls that write what they answer beside code that has just run, in a page that the
// program may write to: none fails, and what was changed is answered once, as it was before.
#include "guest.h"
#include <asm/prctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static u8 *code;
static void *answer;

// The code runs before each call.
#define ASK(...) (((function)code)(), syscall(__VA_ARGS__))

static u64 word(int n) { return ((u64 *)answer)[n]; }

static void signals(void) {
    struct { void *handler; u64 flags; void *restorer; u64 mask; } act = {SIG_IGN, 0, 0, 0};
    SAME(ASK(SYS_rt_sigaction, SIGUSR1, &act, answer, 8), 0);
    SAME(word(0), (u64)SIG_DFL);
    SAME(ASK(SYS_rt_sigaction, SIGUSR1, 0, answer, 8), 0);
    SAME(word(0), (u64)SIG_IGN);
    u64 set = 1 << (SIGUSR2 - 1);
    SAME(ASK(SYS_rt_sigprocmask, SIG_BLOCK, &set, answer, 8), 0);
    SAME(word(0), 0);
    SAME(ASK(SYS_rt_sigprocmask, SIG_BLOCK, 0, answer, 8), 0);
    SAME(word(0), set);
    kill(getpid(), SIGUSR2);
    SAME(ASK(SYS_rt_sigpending, answer, 8), 0);
    SAME(word(0), set);
    SAME(ASK(SYS_rt_sigtimedwait, &set, answer, 0, 8), SIGUSR2);
    SAME(*(int *)answer, SIGUSR2);
    stack_t stack = {.ss_sp = pages(4, 3), .ss_size = 4 * 4096};
    SAME(ASK(SYS_sigaltstack, &stack, answer), 0);
    SAME(((stack_t *)answer)->ss_flags, SS_DISABLE);
    SAME(ASK(SYS_sigaltstack, 0, answer), 0);
    SAME(word(0), (u64)stack.ss_sp);
}

static void limits(void) {
    struct rlimit now, less;
    getrlimit(RLIMIT_CORE, &now);
    less = (struct rlimit){0, now.rlim_max};
    SAME(ASK(SYS_getrlimit, RLIMIT_CORE, answer), 0);
    SAME(word(0), now.rlim_cur);
    SAME(ASK(SYS_prlimit64, 0, RLIMIT_CORE, &less, answer), 0);
    SAME(word(0), now.rlim_cur);
    SAME(ASK(SYS_prlimit64, 0, RLIMIT_STACK, 0, answer), 0);
    getrlimit(RLIMIT_STACK, &now);
    SAME(word(0), now.rlim_cur);
    SAME(ASK(SYS_prlimit64, 0, RLIMIT_CORE, 0, answer), 0);
    SAME(word(0), 0);
}

static void others(void) {
    int options[] = {PR_GET_PDEATHSIG, PR_GET_TSC, PR_GET_CHILD_SUBREAPER};
    for (int n = 0; n < 3; n++) SAME(ASK(SYS_prctl, options[n], answer), 0);
    SAME(ASK(SYS_arch_prctl, ARCH_GET_FS, answer), 0);
    CHECK(word(0) != 0);
    SAME(ASK(SYS_arch_prctl, ARCH_GET_GS, answer), 0);
    SAME(word(0), 0);
    CHECK(ASK(SYS_readlink, "/proc/self/exe", answer, 100) > 0);
    SAME(ASK(SYS_getcwd, answer, 1000) > 0, 1);
}

// Where nobody may write the calls fail, and what they change is changed all the same.
static void in_vain(void) {
    u64 set = 1 << (SIGHUP - 1), mask = 0;
    void *only_read = pages(1, PROT_READ);
    SAME(ASK(SYS_rt_sigprocmask, SIG_BLOCK, &set, only_read, 8), -1);
    SAME(errno, EFAULT);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8);
    CHECK(mask & set);
    SAME(ASK(SYS_prctl, PR_GET_PDEATHSIG, only_read), -1);
    SAME(errno, EFAULT);
    SAME(ASK(SYS_getrlimit, RLIMIT_CORE, only_read), -1);
    SAME(errno, EFAULT);
}

static volatile int handled;
static void handler(int signal) { handled = signal; }

// The frame of a signal, too.
static void on_a_stack_beside_code(void) {
    u8 *memory = pages(16, 7);
    memcpy(memory, code, 6);
    stack_t stack = {.ss_sp = memory, .ss_size = 16 * 4096};
    SAME(sigaltstack(&stack, 0), 0);
    u8 *last = memory + 16 * 4096 - 64;
    memcpy(last, code, 6);
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGALRM, &act, 0);
    ((function)last)();
    kill(getpid(), SIGALRM);
    SAME(handled, SIGALRM);
}

int main(void) {
    code = pages(1, 7);
    emit_return(code, 7);
    answer = code + 512;
    signals();
    limits();
    others();
    in_vain();
    on_a_stack_beside_code();
    FINISH();
}
