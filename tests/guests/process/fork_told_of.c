// A fork that another thread is told of (userfaultfd(2), UFFD_FEATURE_EVENT_FORK) is over only
// when that thread has read so, and that may be its first time through its code.
//@ libs: -lpthread
//@ timeout: 20
#include "guest.h"
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>

enum { PAGES = 4, FORKS = 8 };
static int fd, events[UFFD_EVENT_UNMAP + 1], told;
static u8 *memory;

static void forked(int of_child) {
    struct uffdio_range range = {(u64)memory, PAGES * 4096};
    SAME(ioctl(of_child, UFFDIO_UNREGISTER, &range), 0);
    close(of_child);
}
static void *serve(void *unused) {
    struct pollfd wait = {fd, POLLIN, 0};
    struct uffd_msg message;
    while (poll(&wait, 1, -1) == 1 && read(fd, &message, sizeof message) == sizeof message) {
        if (message.event == UFFD_EVENT_FORK) forked(message.arg.fork.ufd);
        if (message.event == UFFD_EVENT_PAGEFAULT) {
            struct uffdio_zeropage zero = {.range = {message.arg.pagefault.address & -4096, 4096}};
            SAME(ioctl(fd, UFFDIO_ZEROPAGE, &zero), 0);
        }
        events[message.event]++;
        __atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
    }
    return unused;
}
static void fork_once(int status) {
    int ended;
    pid_t child = fork();
    if (!child) _exit(memory[0] + status);
    SAME(waitpid(child, &ended, 0), child); SAME(WEXITSTATUS(ended), status);
}
int main(void) {
    fd = syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {UFFD_API, UFFD_FEATURE_EVENT_FORK | UFFD_FEATURE_EVENT_REMAP |
                                           UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP};
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api)) { puts("no such events here"); return 0; }
    memory = pages(PAGES, PROT_READ | PROT_WRITE);
    u8 *place = pages(1, PROT_NONE);
    munmap(place, 4096);
    struct uffdio_register range = {{(u64)memory, PAGES * 4096}, UFFDIO_REGISTER_MODE_MISSING, 0};
    SAME(ioctl(fd, UFFDIO_REGISTER, &range), 0);
    pthread_t thread;
    pthread_create(&thread, 0, serve, 0);

    for (int status = 1; status <= FORKS; status++) fork_once(status);
    SAME(memory[4096], 0);
    SAME(madvise(memory + 4096, 4096, MADV_DONTNEED), 0);
    SAME(mremap(memory + 8192, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place), place);
    SAME(munmap(memory, 4096), 0);
    while (__atomic_load_n(&told, __ATOMIC_SEQ_CST) < FORKS + 5) sched_yield();
    SAME(events[UFFD_EVENT_PAGEFAULT], 1); SAME(events[UFFD_EVENT_FORK], FORKS);
    SAME(events[UFFD_EVENT_REMAP], 1); SAME(events[UFFD_EVENT_REMOVE], 1);
    SAME(events[UFFD_EVENT_UNMAP], 2);
    FINISH();
}
