// Linked or preloaded into a program: handles the tormentor's signals and counts them.
// Only the first process that gets here takes part; its children just survive.
#define _GNU_SOURCE
#include "shared.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct shared *s;
static int own;

static void count(int signal, siginfo_t *info, void *context) {
    (void)context;
    if (getpid() != own) return;
    if (signal == REALTIME) {
        unsigned n = (unsigned)info->si_value.sival_int;
        if (n < QUEUED) __atomic_fetch_add(&s->seen[n], 1, __ATOMIC_RELAXED);
    }
    for (int i = 0; i < KINDS; i++)
        if (signal == kinds[i]) __atomic_fetch_add(&s->got[i], 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("TORMENT");
    int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (s == MAP_FAILED) _exit(99);
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (int i = 0; i < KINDS; i++) sigaction(kinds[i], &action, 0);
    sigaction(REALTIME, &action, 0);
    int none = 0;
    own = getpid();
    if (!__atomic_compare_exchange_n(&s->ready, &none, own, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        own = 0;
}

// Waits until the tormentor has sent its last, so that what is still queued is counted.
__attribute__((destructor)) static void end(void) {
    if (!s || getpid() != own) return;
    s->closing = 1;
    while (!s->silent) usleep(100);
}
