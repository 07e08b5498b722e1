// SIGSTOP, SIGTSTP and SIGCONT as the parent sees them with WUNTRACED and WCONTINUED, and
// a SIGCONT handler in the child.
#include "guest.h"
static volatile int woken; static void handler(int s, siginfo_t *i, void *c) { woken++; }
int main(void) {
    int go[2]; pipe(go); pid_t k = fork(); char c;
    if (!k) {
        on(SIGCONT, handler, SA_RESTART);
        for (int i = 0; i < 3; i++) {
            raise(i % 2 ? SIGTSTP : SIGSTOP);
            read(go[0], &c, 1);
        }
        _exit(woken);
    }
    for (int i = 0; i < 3; i++) {
        int st;
        SAME(waitpid(k, &st, WUNTRACED), k);
        printf("stopped %d %d\n", WIFSTOPPED(st), WSTOPSIG(st));
        kill(k, SIGCONT);
        SAME(waitpid(k, &st, WCONTINUED), k);
        printf("continued %d\n", WIFCONTINUED(st));
        write(go[1], "x", 1);
    }
    report_child("child", k);
    FINISH();
}
