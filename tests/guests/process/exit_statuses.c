// All 256 exit statuses by _exit, and larger ones, which are cut to eight bits.
//@ variants: pie static
#include "guest.h"
int main(void) {
    for (int i = 0; i < 260; i++) {
        pid_t k = fork();
        if (!k) {
            if (i & 1) exit(i);
            _exit(i);
        }
        int s;
        waitpid(k, &s, 0);
        SAME(WIFEXITED(s), 1);
        SAME(WEXITSTATUS(s), i & 255);
    }
    FINISH();
}
