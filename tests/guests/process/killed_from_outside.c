// A child that shares its parent's memory without being a thread of it is killed by somebody
// who knows nothing of that, at any moment, mostly while it runs code for the first time: the
// parent, another child in the same memory and a thread go on.
//@ libs: -pthread
#include "guest.h"
#include <pthread.h>
#include <sys/syscall.h>

static char stacks[2][1 << 16] __attribute__((aligned(16)));
static volatile int rounds[2], done;
static u8 *code[2];

// New code again and again.
static int child(void *number) {
    long mine = (long)number;
    for (u32 n = 0; !done; n++) {
        u8 *at = code[mine] + n % 4000 * 16;
        emit_return(at, n);
        if (((function)at)() != n) _exit(9);
        rounds[mine]++;
    }
    return 7;
}
static void *thread(void *code) {
    u32 n = 0;
    for (; !done; n++) {
        u8 *at = (u8 *)code + n % 4000 * 16;
        emit_return(at, n);
        if (((function)at)() != n) return NULL;
        usleep(500);
    }
    return code;
}
static pid_t share(long number) {
    return clone(child, stacks[number] + sizeof *stacks, CLONE_VM | CLONE_FILES | SIGCHLD,
                 (void *)number);
}

// Kills whom it is told to, a moment later.
static void killer(int from) {
    pid_t pid;
    for (int n = 0; read(from, &pid, sizeof pid) == sizeof pid; n++) {
        struct timespec moment = {0, n % 50 * 7919};
        nanosleep(&moment, NULL);
        kill(pid, SIGKILL);
    }
    _exit(0);
}

int main(void) {
    int ends[2], status;
    pthread_t beside;
    void *went;
    if (pipe(ends)) return 1;
    pid_t outside = fork();
    if (!outside) close(ends[1]), killer(ends[0]);
    u8 *mine = pages(16, 7), *its = pages(16, 7);
    for (int n = 0; n < 2; n++) code[n] = pages(16, 7);
    pid_t other = share(1);
    pthread_create(&beside, NULL, thread, its);
    for (int n = 0; n < 40; n++) {
        int before = rounds[0];
        pid_t pid = share(0);
        while (rounds[0] < before + 5) sched_yield();
        SAME(write(ends[1], &pid, sizeof pid), sizeof pid);
        SAME(waitpid(pid, &status, 0), pid);
        SAME(WTERMSIG(status), SIGKILL);
        emit_return(mine + n * 16, n);
        SAME(((function)(mine + n * 16))(), n);
        before = rounds[1];
        while (rounds[1] == before) sched_yield();
    }
    done = 1;
    SAME(waitpid(other, &status, 0), other);
    SAME(status, 7 << 8);
    pthread_join(beside, &went);
    CHECK(went == its);
    close(ends[1]);
    waitpid(outside, &status, 0);
    FINISH();
}
