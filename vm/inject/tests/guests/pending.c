/* Says which signals are pending and whether a child is left to wait for. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

int main(void)
{
    sigset_t set;
    sigpending(&set);
    printf("SIGCHLD %d", sigismember(&set, SIGCHLD));
    printf(" SIGUSR1 %d", sigismember(&set, SIGUSR1));
    int pid = waitpid(-1, 0, WNOHANG | __WALL);
    printf(" child %s\n", pid > 0 ? "ended" : pid == 0 ? "runs" : "none");
    return 0;
}
