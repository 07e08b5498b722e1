// A child that sets its user ids to what they are takes nothing from its parent, whose
// memory it uses: the parent goes on saving what it learns (make spawns like this).
//@ variants: pie
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(void)
{
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_RESETIDS);
    char *words[] = { "true", NULL };
    pid_t child;
    int status;
    if (posix_spawn(&child, "/bin/true", NULL, &how, words, environ) != 0)
        return 1;
    waitpid(child, &status, 0);
    int numbers[] = { 5, 3, 9, 1 };
    qsort(numbers, 4, sizeof numbers[0], by_number);
    printf("%d, %d %d %d %d\n", status, numbers[0], numbers[1], numbers[2], numbers[3]);
    return 0;
}
