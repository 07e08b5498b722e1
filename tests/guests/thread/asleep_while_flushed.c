// Threads that wait in calls that change the signal mask, deep in calls of their own, while another
// runs so much new code that what is kept of it is thrown away again and again: nothing of it may
// be kept for them, and they return to where they were called from.
//@ variants: pie static
//@ cflags: -O1 -pthread
#include "new_code.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
enum { KINDS = 5, DEPTH = 40, ROUNDS = 16, WAITS = 4 };
static int pipes[KINDS][2];
static u32 ready;
static void handle(int signal) {}
static void wait_for(long kind) {
    int fd = pipes[kind][0];
    sigset_t none, wake;
    sigemptyset(&none);
    sigemptyset(&wake);
    sigaddset(&wake, SIGUSR1);
    struct pollfd one = {.fd = fd, .events = POLLIN};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    struct epoll_event event = {.events = EPOLLIN};
    int poll = epoll_create1(0), signal;
    SAME(epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event), 0);
    switch (kind) {
    case 0: SAME(ppoll(&one, 1, 0, &none), 1); break;
    case 1: SAME(pselect(fd + 1, &set, 0, 0, 0, &none), 1); break;
    case 2: SAME(epoll_pwait(poll, &event, 1, -1, &none), 1); break;
    case 3: SAME(sigwait(&wake, &signal), 0); break;
    default: SAME(sigsuspend(&none), -1);
    }
    close(poll);
    u8 byte;
    if (kind < 3) SAME(read(fd, &byte, 1), 1);
}
static __attribute__((noinline)) long deep(long kind, int depth) {
    if (depth == 0) {
        __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
        wait_for(kind);
        return 1;
    }
    long below = deep(kind, depth - 1);
    return below + 1;
}
static void *sleeper(void *arg) {
    long sum = 0;
    for (int n = 0; n < WAITS; n++) sum += deep((long)arg, DEPTH);
    return (void *)sum;
}
int main(void) {
    u8 *code = room_for_chunks();
    pthread_t threads[KINDS];
    sigset_t wake;
    sigemptyset(&wake);
    sigaddset(&wake, SIGUSR1);
    signal(SIGUSR1, handle);
    pthread_sigmask(SIG_BLOCK, &wake, 0);
    for (long n = 0; n < KINDS; n++) {
        SAME(pipe(pipes[n]), 0);
        pthread_create(&threads[n], 0, sleeper, (void *)n);
    }
    long wrong = 0;
    for (u32 round = 1; round <= ROUNDS; round++) {
        wrong += run_all(code, round);
        if (round % (ROUNDS / WAITS)) continue;
        u32 all = KINDS * (round / (ROUNDS / WAITS));
        while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < all) usleep(100);
        u8 byte = round;
        for (int n = 0; n < 3; n++) SAME(write(pipes[n][1], &byte, 1), 1);
        for (int n = 3; n < KINDS; n++) pthread_kill(threads[n], SIGUSR1);
    }
    SAME(wrong, 0);
    for (int n = 0; n < KINDS; n++) {
        void *theirs;
        pthread_join(threads[n], &theirs);
        SAME((long)theirs, WAITS * (DEPTH + 1));
    }
    FINISH();
}
