// Bad pointers and sizes to calls that an engine handles itself: the kernel's own errors,
// and no harm to what follows.
#include "guest.h"
#include <poll.h>
#define TRY(...)                                                                                   \
    do {                                                                                           \
        long r_ = syscall(__VA_ARGS__);                                                            \
        printf("%s: %ld %d\n", #__VA_ARGS__, r_, r_ < 0 ? errno : 0);                              \
    } while (0)
int main(void) {
    u8 *ro = pages(1, PROT_READ); 
    for (int r = 0; r < 2; r++) {
        TRY(SYS_rt_sigaction, 10, 8L, 0L, 8);
        TRY(SYS_rt_sigaction, 10, 0L, 8L, 8);
        TRY(SYS_rt_sigaction, 0, 0L, 0L, 8);
        TRY(SYS_rt_sigaction, 65, 0L, 0L, 8);
        TRY(SYS_rt_sigaction, 9, ro, 0L, 8);
        TRY(SYS_rt_sigaction, 10, 0L, 0L, 4);
        TRY(SYS_rt_sigaction, 10, 0L, ro, 8);
        TRY(SYS_rt_sigprocmask, 0, 8L, 0L, 8);
        TRY(SYS_rt_sigprocmask, 7, ro, 0L, 8);
        TRY(SYS_rt_sigprocmask, 7, 0L, 0L, 8);
        TRY(SYS_rt_sigprocmask, 0, 0L, ro, 8);
        TRY(SYS_rt_sigprocmask, 0, 0L, 0L, 9);
        TRY(SYS_rt_sigpending, 8L, 8);
        TRY(SYS_sigaltstack, 8L, 0L);
        TRY(SYS_sigaltstack, 0L, 8L);
        TRY(SYS_mmap, 0, 0, 3, 0x22, -1, 0);
        TRY(SYS_mmap, 1, 4096, 3, 0x32, -1, 0);
        TRY(SYS_mmap, 0, 4096, 3, 2, 99, 0);
        TRY(SYS_mmap, 0, -1L, 3, 0x22, -1, 0);
        TRY(SYS_mprotect, 4097L, 10, 0);
        TRY(SYS_mprotect, 0x10000L, 4096, 5);
        TRY(SYS_munmap, 1L, 4096);
        TRY(SYS_munmap, 0x10000L, 0);
        TRY(SYS_mremap, 8L, 4096, 4096, 1);
        TRY(SYS_madvise, 8L, 10, 4);
        TRY(SYS_clone3, 8L, 88);
        TRY(SYS_clone3, ro, 5000);
        TRY(SYS_execve, 0L, 0L, 0L);
        TRY(SYS_execveat, 99, "x", 0L, 0L, 0);
        TRY(SYS_wait4, 99999999, 0L, 0, 0L);
        TRY(SYS_arch_prctl, 0x1002, -1L);
        TRY(SYS_arch_prctl, 0x9999, 0L);
        TRY(SYS_arch_prctl, 0x1003, 8L);
        TRY(SYS_set_robust_list, 0L, 5);
        TRY(SYS_rt_sigqueueinfo, 1, 10, 8L);
        TRY(SYS_rt_sigtimedwait, 8L, 0L, 0L, 8);
        TRY(SYS_rt_sigsuspend, 8L, 8);
        TRY(SYS_close, -1);
        TRY(SYS_close_range, 9, 8, 0);
        TRY(SYS_dup2, 1, 1 << 30);
        TRY(SYS_prctl, 12345, 0, 0, 0, 0);
        TRY(SYS_tgkill, -1, 1, 1);
        TRY(SYS_kill, 1 << 29, 0);
        TRY(SYS_rseq, 8L, 32, 0, 0x1);
        TRY(SYS_futex, 8L, 0, 0, 0, 0, 0);
    }
    FINISH();
}
