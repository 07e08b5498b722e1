// What the tormentor and its victim tell each other, in a file that both map.
#ifndef SHARED_H
#define SHARED_H
#include <signal.h>
#include <stdint.h>

enum { KINDS = 3, QUEUED = 1 << 20 };
static const int kinds[KINDS] = {SIGALRM, SIGUSR1, SIGPROF};
#define REALTIME (SIGRTMIN + 5)

struct shared {
    volatile int ready;   // the victim's pid, once its handlers stand
    volatile int closing; // it is about to end: send no more
    volatile int silent;  // nothing more will be sent
    uint64_t sent[KINDS], got[KINDS];
    uint64_t queued; // real-time signals that the kernel took
    uint8_t seen[QUEUED]; // how often each of them came
};
#endif
