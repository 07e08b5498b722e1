// clone3: a thread, a vfork-like child and a plain fork, with the sizes that the kernel
// accepts and refuses.
#include "guest.h"
#include <linux/sched.h>
static char stack[65536] __attribute__((aligned(16))); static volatile int value, ctid;
static long call(struct clone_args *a, size_t size, void (*child)(void)) {
    register void *entry asm("r12") = (void *)child;
    long r;
    asm volatile("mov $435, %%eax; syscall; test %%rax, %%rax; jnz 1f; xor %%ebp, %%ebp; call "
                 "*%%r12; ud2; 1:"
                 : "=a"(r)
                 : "D"(a), "S"(size), "r"(entry)
                 : "rcx", "r11", "memory");
    return r;
}
static void thread(void) {
    value += 1;
    syscall(SYS_exit, 0);
}
static void leave(void) {
    value += 10;
    _exit(value);
}
int main(void) {
    struct clone_args a = {.flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                    CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
                           .stack = (u64)stack,
                           .stack_size = sizeof stack,
                           .child_tid = (u64)&ctid};
    ctid = 1; CHECK(call(&a, sizeof a, thread) > 0); while (ctid) sched_yield(); SAME(value, 1);
    struct clone_args v = {.flags = CLONE_VM | CLONE_VFORK,
                           .exit_signal = SIGCHLD,
                           .stack = (u64)stack,
                           .stack_size = sizeof stack};
    pid_t k = call(&v, sizeof v, leave);
    SAME(value, 11);
    report_child("vfork-like", k);
    struct clone_args f = {.exit_signal = SIGCHLD};
    k = call(&f, 64, leave);
    report_child("fork-like", k);
    SAME(value, 11);
    SAME(call(&f, 16, leave), -EINVAL);
    SAME(call((void *)8, 88, leave), -EFAULT);
    f.flags = 1ull << 60;
    SAME(call(&f, sizeof f, leave), -EINVAL);
    f.flags = CLONE_THREAD;
    SAME(call(&f, sizeof f, leave), -EINVAL);
    FINISH();
}
