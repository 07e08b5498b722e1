// Process, thread, group, session and parent ids by every route agree, in the program, a
// thread and a child.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static void *body(void *a) {
    CHECK(syscall(SYS_gettid) != getpid());
    SAME(getpid(), (long)a);
    char l[64] = {0};
    SAME(readlink("/proc/thread-self", l, 63) > 0, 1);
    char w[64];
    sprintf(w, "%d/task/%ld", getpid(), syscall(SYS_gettid));
    SAME(strcmp(l, w), 0);
    return 0;
}
int main(void) {
    char l[64] = {0};
    readlink("/proc/self", l, 63);
    SAME(atoi(l), getpid());
    SAME(syscall(SYS_gettid), getpid());
    SAME(getpgid(0), getpgrp());
    SAME(getsid(0), getsid(getpid()));
    int st;
    FILE *f = fopen("/proc/self/stat", "r");
    int pid, ppid;
    char comm[64], s;
    fscanf(f, "%d %63s %c %d", &pid, comm, &s, &ppid);
    SAME(pid, getpid());
    SAME(ppid, getppid());
    puts(comm);
    pthread_t t;
    pthread_create(&t, 0, body, (void *)(long)getpid());
    pthread_join(t, 0);
    pid_t p = getpid(), k = fork();
    if (!k) {
        SAME(getppid(), p);
        SAME(syscall(SYS_gettid), getpid());
        pthread_create(&t, 0, body, (void *)(long)getpid());
        pthread_join(t, 0);
        _exit(failures);
    }
    report_child("child", k);
    FINISH();
}
