// A sandbox that traps nearly all calls, and mmap with flags of this century, and then
// runs more new code than any cache had room for: the program's handler must see no
// call that the program did not make.
//@ variants: pie static
#include "guest.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#define MANY 100000

static volatile int trapped;
static volatile int last;

static void on_sigsys(int signal, siginfo_t *info, void *context) {
    trapped++;
    last = info->si_syscall;
    GREG(context, REG_RAX) = -ENOSYS;
}

static void confine(void) {
#define ALLOW(nr)                                                                                  \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(__NR_write),
        ALLOW(__NR_exit_group),
        ALLOW(__NR_rt_sigreturn),
        ALLOW(__NR_fstat),
        ALLOW(__NR_newfstatat),
        ALLOW(__NR_brk),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
        BPF_JUMP(
            BPF_JMP | BPF_JSET | BPF_K,
            ~(MAP_SHARED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE | MAP_FIXED), 1,
            0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    SAME(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    SAME(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

int main(void) {
    u8 *jit =
        mmap(0, 16 * MANY, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (u32 n = 0; n < MANY; n++) {
        // mov $n, %eax; ret
        u8 *at = jit + 16 * n;
        at[0] = 0xb8, at[5] = 0xc3;
        memcpy(at + 1, &n, 4);
    }
    struct sigaction action = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, 0);
    confine();
    u32 sum = 0;
    for (u32 n = 0; n < MANY; n++)
        sum += ((u32(*)(void))(jit + 16 * n))();
    SAME(sum, 704982704u);
    SAME(trapped, 0);
    SAME(last, 0);
    // One of the program's own is its business.
    SAME(syscall(__NR_getuid), -1);
    SAME(errno, ENOSYS);
    SAME(trapped, 1);
    SAME(last, __NR_getuid);
    FINISH();
}
