// Calls for the kernel's own use (`uretprobe`, `uprobe`) answer anybody else with a SIGILL that
// is forced: it comes behind the call, kills where it is blocked or ignored, else is handled.
//@ variants: pie static
#include "guest.h"

static u64 at, result, code;
static void handler(int s, siginfo_t *i, void *c) {
    at = GREG(c, REG_RIP);
    result = GREG(c, REG_RAX);
    code = i->si_code;
    GREG(c, REG_RAX) = 77;
}

static u64 call(u64 nr, u64 *behind) {
    u64 here, a = nr, b = 5;
    asm volatile("lea 1f(%%rip), %[h]; syscall\n1:"
                 : "+a"(a), "+b"(b), [h] "=&r"(here)::"rcx", "r11", "memory");
    SAME(b, 5);
    *behind = here;
    return a;
}

static void death(u64 nr, int blocked, void (*action)(int)) {
    int status;
    u64 behind;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGILL);
    if (!fork()) {
        signal(SIGILL, action);
        if (blocked) sigprocmask(SIG_BLOCK, &set, 0);
        _exit(call(nr, &behind) == (u64)-ENOSYS ? 1 : 2);
    }
    wait(&status);
    printf("%d blocked %d: %#x\n", (int)nr, blocked, status & 0xff7f);
}

int main(void) {
    u64 behind;
    setvbuf(stdout, 0, _IONBF, 0);
    on(SIGILL, handler, 0);
    for (u64 nr = 335; nr <= 336; nr++) {
        for (int k = 0; k < 3; k++) {
            at = result = code = 0;
            u64 got = call(nr, &behind);
            printf("%d: %lld, %lld, code %d, behind %d\n", (int)nr, (long long)got,
                   (long long)result, (int)code, at == behind);
        }
        death(nr, 0, SIG_DFL);
        death(nr, 0, SIG_IGN);
        death(nr, 1, SIG_DFL);
        death(nr, 1, (void (*)(int))handler);
    }
    FINISH();
}
