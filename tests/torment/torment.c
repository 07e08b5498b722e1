// torment COUNTS HERTZ COMMAND...: runs the command; while it runs, sends it SIGALRM,
// SIGUSR1 and SIGPROF, each HERTZ times a second, and a tenth as many numbered real-time
// signals. What was sent and what arrived is in COUNTS; a real-time signal that was lost
// or came twice is an error. Ends as the command does, or with 98.
#define _GNU_SOURCE
#include "shared.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct shared *s;

static void shots(pid_t victim, unsigned round) {
    for (int i = 0; i < KINDS; i++)
        if (!kill(victim, kinds[i])) s->sent[i]++;
    union sigval number = {.sival_int = (int)s->queued};
    if (round % 10 == 0 && s->queued < QUEUED && !sigqueue(victim, REALTIME, number)) s->queued++;
}

static int judge(void) {
    unsigned long lost = 0, twice = 0;
    for (uint64_t i = 0; i < s->queued; i++) lost += s->seen[i] == 0, twice += s->seen[i] > 1;
    if (lost || twice)
        fprintf(stderr, "torment: of %lu queued signals %lu were lost, %lu came twice\n",
                (unsigned long)s->queued, lost, twice);
    return lost || twice;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *s)) return perror(argv[1]), 99;
    s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    long pause = 1000000000 / atol(argv[2]);
    setenv("TORMENT", argv[1], 1);
    prctl(PR_SET_TIMERSLACK, 1000);
    pid_t victim = fork();
    if (!victim) execvp(argv[3], argv + 3), perror(argv[3]), _exit(127);
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    int status;
    for (unsigned round = 0; waitpid(victim, &status, WNOHANG) != victim; round++) {
        if (s->closing) s->silent = 1;
        else if (s->ready == victim) shots(victim, round);
        next.tv_nsec += pause;
        if (next.tv_nsec >= 1000000000) next.tv_sec++, next.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
    }
    if (s->silent && judge()) return 98;
    if (WIFSIGNALED(status)) signal(WTERMSIG(status), SIG_DFL), raise(WTERMSIG(status));
    return WEXITSTATUS(status);
}
