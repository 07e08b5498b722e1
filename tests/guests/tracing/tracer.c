// A debugger under ppin: the program that it traces runs natively, and no stop comes
// that the kernel does not send natively.
#include "guest.h"
#include <sys/ptrace.h>
#include <sys/user.h>

// A path that ends where its memory does, as an environment's last string may.
static const char *at_the_end(const char *path) {
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    return strcpy(pages + 4096 - strlen(path) - 1, path);
}

static void follow(pid_t child) {
    for (int status;;) {
        waitpid(child, &status, 0);
        if (!WIFSTOPPED(status)) {
            printf("ended %d\n", WEXITSTATUS(status));
            return;
        }
        struct user_regs_struct regs;
        ptrace(PTRACE_GETREGS, child, 0, &regs);
        printf("stopped by %d, call %lld\n", WSTOPSIG(status), (long long)regs.orig_rax);
        ptrace(PTRACE_CONT, child, 0, 0);
    }
}

int main(void) {
    const char *shell = at_the_end("/bin/sh");
    for (int way = 0; way < 2; way++) {
        fflush(stdout);
        pid_t child = way ? vfork() : fork();
        if (child == 0) {
            ptrace(PTRACE_TRACEME, 0, 0, 0);
            execl(shell, "sh", "-c", "exec /bin/true", (char *)0);
            _exit(9);
        }
        follow(child);
    }
    return 0;
}
