// Answers each line of its input, under a filter of system calls that allows all.
// (`tests/e2e/attach.rs` runs it.)
//@ variants: pie
#include "guest.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

int main(void) {
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog all = {1, allow};
    SAME(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    SAME(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all), 0);
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        printf("got %s", line);
        fflush(stdout);
    }
    FINISH();
}
