// sigaltstack: handlers with SA_ONSTACK run there, nested ones stay there, the setting is
// read back as set, SS_AUTODISARM and errors behave.
#include "guest.h"
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif
static char stack[65536]; static int on_it;
static int inside(void *p) { return (char *)p >= stack && (char *)p < stack + sizeof stack; }
static void inner(int s, siginfo_t *i, void *c) {
    int here;
    CHECK(inside(&here));
    CHECK(inside(c));
}
static void outer(int s, siginfo_t *i, void *c) {
    int here;
    stack_t now;
    CHECK(inside(&here));
    on_it++;
    sigaltstack(0, &now);
    printf("flags %x\n", now.ss_flags);
    SAME(((ucontext_t *)c)->uc_stack.ss_sp, stack);
    SAME(((ucontext_t *)c)->uc_stack.ss_size, sizeof stack);
    stack_t other = {.ss_sp = stack, .ss_size = 4096 * 4};
    int r = sigaltstack(&other, 0);
    printf("change %d %d\n", r, r ? errno : 0);
    if (now.ss_flags & SS_ONSTACK) raise(SIGUSR2);
}
static void off(int s, siginfo_t *i, void *c) { int here; CHECK(!inside(&here)); }
int main(void) {
    stack_t set = {.ss_sp = stack, .ss_size = sizeof stack}, old;
    SAME(sigaltstack(&set, &old), 0); SAME(old.ss_flags, SS_DISABLE);
    on(SIGUSR1, outer, SA_ONSTACK); on(SIGUSR2, inner, 0); on(SIGHUP, off, 0);
    for (int r = 0; r < 5; r++) {
        raise(SIGUSR1);
        raise(SIGHUP);
        sigaltstack(0, &old);
        SAME(old.ss_sp, stack);
        SAME(old.ss_flags, 0);
    }
    set.ss_flags = SS_AUTODISARM;
    SAME(sigaltstack(&set, 0), 0);
    raise(SIGUSR1);
    sigaltstack(0, &old);
    printf("after %x\n", old.ss_flags);
    set.ss_size = 100;
    set.ss_flags = 0;
    int r = sigaltstack(&set, 0);
    printf("small %d %d\n", r, errno);
    set.ss_flags = 77; r = sigaltstack(&set, 0); printf("flags %d %d\n", r, errno);
    set.ss_flags = SS_DISABLE;
    SAME(sigaltstack(&set, 0), 0);
    on(SIGUSR1, off, SA_ONSTACK);
    raise(SIGUSR1);
    SAME(on_it, 6);
    FINISH();
}
