// vfork: the child runs first in the parent's memory and stack frame, then _exit or exec;
// the parent sees what it wrote.
//@ variants: pie static
#include "guest.h"
int main(void) {
    volatile int shared = 0;
    for (int i = 0; i < 50; i++) {
        pid_t k = vfork();
        if (!k) {
            shared++;
            _exit(i);
        }
        int s;
        waitpid(k, &s, 0);
        SAME(WEXITSTATUS(s), i);
        SAME(shared, i + 1);
    }
    for (int i = 0; i < 5; i++) {
        pid_t k = vfork();
        if (!k) {
            execl("/bin/sh", "sh", "-c", "echo from exec; exit 6", NULL);
            _exit(1);
        }
        report_child("exec", k);
    }
    pid_t k = vfork();
    if (!k) {
        execl("/nonexistent", "x", NULL);
        _exit(errno);
    }
    report_child("failed exec", k);
    k = vfork(); if (!k) { kill(getpid(), SIGKILL); _exit(0); } report_child("killed", k);
    FINISH();
}
