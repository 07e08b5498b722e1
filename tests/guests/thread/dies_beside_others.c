// A process with several threads dies by a signal, in each way: what a core file shows.
//@ libs: -pthread
//@ cflags: -g -O1
//@ run: SEGV fault => signal SEGV
//@ run: FPE fault => signal FPE
//@ run: ILL fault => signal ILL
//@ run: TRAP fault => signal TRAP
//@ run: BUS fault => signal BUS
//@ run: XFSZ fault => signal XFSZ
//@ run: ABRT abort => signal ABRT
//@ run: QUIT raise => signal QUIT
//@ run: SYS kill => signal SYS
//@ run: XCPU other => signal XCPU
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int ready;
static int pipes[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define FRAME(name, body)                                   \
    __attribute__((noinline)) static void name(long depth) { \
        body;                                               \
        __asm__ volatile("" : : "r"(depth) : "memory");     \
    }
#define READY __sync_fetch_and_add(&ready, 1)

FRAME(reads_for_ever, { char c; READY; if (read(pipes[0], &c, 1)) depth++; })
FRAME(reader_two, reads_for_ever(depth + 1))
FRAME(reader_one, reader_two(depth + 1))
FRAME(sleeps_for_ever, { READY; for (;;) poll(0, 0, -1); })
FRAME(sleeper_one, sleeps_for_ever(depth + 1))
FRAME(waits_for_lock, { READY; pthread_mutex_lock(&mutex); })
FRAME(waiter_one, waits_for_lock(depth + 1))
// One instruction, so that it is at the same address in each core.
FRAME(spins_for_ever, __asm__ volatile("lock incl %0\n1: jmp 1b" : "+m"(ready)))
FRAME(spinner_one, spins_for_ever(depth + 1))

static volatile pid_t ids[3];
static void *reader(void *depth) { ids[0] = gettid(); reader_one((long)depth); return 0; }
static void *sleeper(void *depth) { ids[1] = gettid(); sleeper_one((long)depth); return 0; }
static void *waiter(void *depth) { ids[2] = gettid(); waiter_one((long)depth); return 0; }
static void *spinner(void *depth) { spinner_one((long)depth); return 0; }

static int number(const char *name) {
    static const struct { const char *name; int number;
    } all[] = {{"QUIT", SIGQUIT}, {"ILL", SIGILL}, {"TRAP", SIGTRAP}, {"ABRT", SIGABRT},
               {"BUS", SIGBUS},   {"FPE", SIGFPE}, {"SEGV", SIGSEGV}, {"XCPU", SIGXCPU},
               {"XFSZ", SIGXFSZ}, {"SYS", SIGSYS}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name)) return all[i].number;
    exit(2);
}

static volatile int zero;

static void fault(int signal) {
    switch (signal) {
    case SIGSEGV: *(volatile int *)16 = 1; break;
    case SIGFPE: zero = ready / zero; break;
    case SIGILL: __asm__ volatile("ud2"); break;
    case SIGTRAP: __asm__ volatile("int3"); break;
    // A misaligned access under the AC flag.
    case SIGBUS:
        __asm__ volatile("pushf; orl $0x40000,(%%rsp); popf; mov 1(%%rsp),%%eax" : : : "rax");
        break;
    case SIGXFSZ: {
        char name[] = "/tmp/ppin-dies-XXXXXX", byte = 0;
        int file = mkstemp(name);
        unlink(name);
        // Far behind what is allowed, which leaves room for a core file.
        struct rlimit limit = {1L << 40, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &limit);
        if (pwrite(file, &byte, 1, 1L << 40)) zero++;
        break;
    }
    }
}

__attribute__((noinline)) static void last_words(int signal, const char *how) {
    if (!strcmp(how, "kill")) kill(getpid(), signal);
    if (!strcmp(how, "raise")) raise(signal);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "fault")) fault(signal);
    if (!strcmp(how, "other")) {
        pid_t me = getpid();
        if (!fork()) {
            usleep(200000);
            kill(me, signal);
            _exit(0);
        }
        for (;;) pause();
    }
    zero = 5;
}

static const char **words;
FRAME(dies_two, last_words(number(words[1]), words[2]))
FRAME(dies_one, dies_two(depth + 1))

// Waits until the thread waits in the call, with this first argument.
static void comes_to(pid_t thread, int call, const volatile void *argument) {
    char path[64], text[256];
    for (;;) {
        int number = -1;
        void *first = 0;
        snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
        FILE *file = fopen(path, "r");
        if (file && fgets(text, sizeof text, file)) sscanf(text, "%d %p", &number, &first);
        if (file) fclose(file);
        if (number == call && first == argument) return;
        usleep(1000);
    }
}

int main(int argc, char **argv) {
    enum { THREADS = 4 };
    void *(*bodies[THREADS])(void *) = {reader, sleeper, waiter, spinner};
    words = (const char **)argv;
    if (argc < 3 || pipe(pipes)) return 2;
    pthread_mutex_lock(&mutex);
    for (long i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, bodies[i], (void *)(i * 1000))) return 2;
    }
    while (ready < THREADS) usleep(1000);
    comes_to(ids[0], SYS_read, (void *)(long)pipes[0]);
    comes_to(ids[1], SYS_poll, 0);
    comes_to(ids[2], SYS_futex, &mutex);
    // The last one comes to its loop.
    usleep(20000);
    dies_one(1);
    return 3;
}
