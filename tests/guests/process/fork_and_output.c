// fork: buffered output is copied, memory is not shared, ids and parents are right, two
// hundred children end with their own status.
//@ variants: pie static musl
#include "guest.h"
int main(void) {
    printf("buffered "); int x = 1; pid_t parent = getpid(), k = fork();
    if (!k) {
        x = 2;
        CHECK(getppid() == parent);
        CHECK(getpid() != parent);
        CHECK(getpid() == syscall(SYS_gettid));
        printf("child %d\n", x);
        exit(4);
    }
    int s; waitpid(k, &s, 0); printf("parent %d %d\n", x, WEXITSTATUS(s));
    fflush(stdout); int sum = 0;
    for (int i = 0; i < 200; i++) {
        k = fork();
        if (!k) _exit(i);
        SAME(waitpid(k, &s, 0), k);
        sum += WEXITSTATUS(s);
    }
    SAME(sum, 19900); FINISH();
}
