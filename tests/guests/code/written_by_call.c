// Code changed by every call that writes to a process's own memory: through descriptors of
// /proc/self/mem and its kin, at a position or an offset, and by process_vm_writev.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
#include <sys/uio.h>
static u8 *p; static u32 next = 7;
#define WAY(name, call)                                                                            \
    do {                                                                                           \
        for (int k = 0; k < 3; k++) {                                                              \
            u8 b[6];                                                                               \
            emit_return(b, ++next);                                                                \
            struct iovec v[2] = {{b, 2}, {b + 2, 4}}, one = {b, 6}, to = {p, 6};                   \
            (void)v;                                                                               \
            (void)one;                                                                             \
            (void)to;                                                                              \
            long r = call;                                                                         \
            if (r != 6) printf(name ": %ld\n", r), failures++;                                     \
            SAME(((function)p)(), next);                                                           \
        }                                                                                          \
    } while (0)
static void through(int fd) {
    WAY("pwrite", pwrite(fd, b, 6, (off_t)p));
    WAY("write", (lseek(fd, (off_t)p, SEEK_SET), write(fd, b, 6)));
    WAY("writev", (lseek(fd, (off_t)p, SEEK_SET), writev(fd, v, 2)));
    WAY("pwritev", pwritev(fd, v, 2, (off_t)p));
    WAY("pwritev2", pwritev2(fd, v, 2, (off_t)p, 0));
    WAY("pwritev2 here", (lseek(fd, (off_t)p, SEEK_SET), pwritev2(fd, v, 2, -1, 0)));
}
static void *thread(void *arg) { through(open("/proc/thread-self/mem", O_RDWR)); return 0; }
int main(void) {
    p = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC); emit_return(p, 1); SAME(((function)p)(), 1);
    WAY("process_vm_writev", process_vm_writev(getpid(), v, 2, &to, 1, 0));
    WAY("of this thread", process_vm_writev(gettid(), &one, 1, &to, 1, 0));
    mprotect(p, 4096, PROT_READ | PROT_EXEC); SAME(((function)p)(), next);
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC); through(fd); through(dup(fd));
    char path[40];
    sprintf(path, "/proc/%d/mem", getpid());
    through(syscall(SYS_open, path, O_WRONLY));
    close(fd);
    int dir = open("/proc/self", O_RDONLY | O_DIRECTORY); through(openat(dir, "mem", O_WRONLY));
    pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0);
    fflush(stdout); pid_t pid = fork();
    if (!pid) { through(open("/proc/self/mem", O_RDWR)); fflush(stdout); _exit(failures); }
    report_child("child", pid); SAME(((function)p)(), next);
    FINISH();
}
