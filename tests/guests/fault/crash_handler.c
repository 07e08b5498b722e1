// A handler of SIGSEGV that reports the crash: its own stack, and by a child that traces them
// all threads of its parent, which must be in the program's code, and its mappings.
//@ libs: -pthread
//@ cflags: -O1 -rdynamic
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3 };
static int pipes[2];
static volatile int ready, ids[THREADS];
static volatile unsigned long spun;

static void *reads(void *arg) {
    char byte;
    ids[1] = gettid();
    __sync_fetch_and_add(&ready, 1);
    if (read(pipes[0], &byte, 1)) spun++;
    return arg;
}
static void *spins(void *arg) {
    ids[2] = gettid();
    __sync_fetch_and_add(&ready, 1);
    for (;;) spun++;
    return arg;
}

// The file that is mapped at `pc` in process `pid`.
static const char *file_at(unsigned long pc, pid_t pid) {
    static char found[512];
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    strcpy(found, "nothing");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char name[400] = "no name";
        sscanf(line, "%lx-%lx %*s %*s %*s %*s %399s", &from, &to, name);
        if (from <= pc && pc < to)
            strcpy(found, strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
    }
    if (maps) fclose(maps);
    return found;
}

static void look_at(pid_t parent, int n) {
    struct user_regs_struct registers;
    unsigned char before[2] = {0};
    int status;
    if (ptrace(PTRACE_ATTACH, ids[n], 0, 0)) {
        printf("thread %d: %s\n", n, strerror(errno));
        return;
    }
    waitpid(ids[n], &status, __WALL);
    ptrace(PTRACE_GETREGS, ids[n], 0, &registers);
    struct iovec to = {before, 2}, from = {(void *)(registers.rip - 2), 2};
    long got = process_vm_readv(parent, &to, 1, &from, 1, 0);
    printf("thread %d: in %s, call %lld, behind a syscall %d, read %ld\n", n,
           file_at(registers.rip, parent), (long long)registers.orig_rax,
           before[0] == 0x0f && before[1] == 5, got);
}

static void report(pid_t parent) {
    for (int n = 0; n < THREADS; n++) look_at(parent, n);
    // Mappings of files that this process has not got itself, but for the names of its own.
    char path[64], line[512];
    int foreign = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", parent);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof line, maps)) {
        char *name = strchr(line, '/');
        foreign += name && !strstr(name, ".so") && !strstr(name, "crash_handler");
    }
    printf("%d mappings of other files\n", foreign);
    for (int n = 0; n < THREADS; n++) ptrace(PTRACE_DETACH, ids[n], 0, 0);
}

static void handler(int signal, siginfo_t *info, void *context) {
    void *pcs[32];
    int own = 0, frames = backtrace(pcs, 32);
    for (int n = 0; n < frames; n++) {
        Dl_info where;
        int known = dladdr(pcs[n], &where);
        own += known && where.dli_sname &&
               (!strcmp(where.dli_sname, "main") || !strcmp(where.dli_sname, "crashes"));
        if (!known) puts("a frame of nobody");
    }
    printf("signal %d at %lx, %d frames, %d own\n", signal, (long)info->si_addr, frames, own);
    pid_t parent = getpid();
    prctl(PR_SET_PTRACER, -1L, 0, 0, 0);
    fflush(stdout);
    if (!fork()) {
        // The parent has come to its wait.
        usleep(100000);
        report(parent);
        fflush(stdout);
        _exit(0);
    }
    int status;
    wait(&status);
    printf("child %x\n", status);
    fflush(stdout);
    _exit(status != 0);
}

__attribute__((noinline)) void crashes(void) {
    *(volatile int *)16 = 1;
    __asm__ volatile("");
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    ids[0] = gettid();
    sigaction(SIGSEGV, &action, 0);
    if (pipe(pipes) || pthread_create(&thread, 0, reads, 0) || pthread_create(&thread, 0, spins, 0))
        return 2;
    while (ready < THREADS - 1) usleep(1000);
    usleep(20000);
    crashes();
    return 3;
}
