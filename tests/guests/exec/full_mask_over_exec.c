// A full signal mask survives exec with every signal in it, those of faults too, which an
// engine does not block in the kernel; and so does an empty one, afterwards.
//@ variants: pie static
#include "guest.h"
int main(int argc, char **argv) {
    sigset_t m;
    sigprocmask(SIG_BLOCK, 0, &m);
    if (argc > 1) {
        for (int s = 1; s < 65; s++)
            if (s != SIGKILL && s != SIGSTOP && s != 32 && s != 33)
                SAME(sigismember(&m, s), argv[1][0] == 'f');
        printf("%s: ", argv[1]);
        if (argv[1][0] == 'e') FINISH();
        sigemptyset(&m);
    } else sigfillset(&m);
    fflush(stdout);
    sigprocmask(SIG_SETMASK, &m, 0);
    execl("/proc/self/exe", argv[0], argc > 1 ? "empty" : "full", NULL);
    return 1;
}
