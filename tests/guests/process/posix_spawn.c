// posix_spawn with file actions and attributes: a child with its own stack in our memory,
// then exec; errors come back as return values.
#include "guest.h"
#include <spawn.h>
extern char **environ;
int main(void) {
    for (int i = 0; i < 10; i++) {
        posix_spawn_file_actions_t f;
        posix_spawnattr_t a;
        posix_spawn_file_actions_init(&f);
        posix_spawnattr_init(&a);
        posix_spawn_file_actions_adddup2(&f, 1, 2);
        posix_spawn_file_actions_addopen(&f, 7, "/dev/null", O_RDONLY, 0);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        posix_spawnattr_setsigmask(&a, &set);
        posix_spawnattr_setflags(&a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
        char *args[] = {"sh", "-c",
                        "echo spawned >&2; grep SigBlk /proc/self/status; ls -l /proc/self/fd/7 | "
                        "grep -c null; exit 5",
                        0};
        pid_t k;
        SAME(posix_spawn(&k, "/bin/sh", &f, &a, args, environ), 0);
        report_child("spawn", k);
    }
    char *args[] = {"nothing", 0};
    pid_t k;
    SAME(posix_spawn(&k, "/nonexistent", 0, 0, args, environ), ENOENT);
    SAME(system("exit 3"), 3 << 8);
    FILE *p = popen("echo popen; exit 2", "r");
    char line[20];
    fgets(line, 20, p);
    fputs(line, stdout);
    SAME(pclose(p), 2 << 8);
    FINISH();
}
