// A thread that waits for its page (userfaultfd) handles a signal while it waits, and goes
// on when the page is there. The access is the first thing in a basic block: tools count
// just before it.
//@ libs: -lpthread
//@ timeout: 20
#include "guest.h"
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>

static volatile int handled, stored;
static u8 *page;
static void handler(int signal) { handled = signal; }
static void *store(void *unused) {
    __asm__ volatile("jmp 1f; 1: movb $7, (%0)" : : "r"(page) : "memory");
    stored = 1;
    return unused;
}
int main(void) {
    signal(SIGUSR1, handler);
    int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (fd < 0) { puts("no userfaultfd here"); return 0; }
    struct uffdio_api api = {.api = UFFD_API};
    SAME(ioctl(fd, UFFDIO_API, &api), 0);
    page = pages(1, 3);
    struct uffdio_register range = {{(u64)page, 4096}, UFFDIO_REGISTER_MODE_MISSING, 0};
    SAME(ioctl(fd, UFFDIO_REGISTER, &range), 0);

    pthread_t thread;
    pthread_create(&thread, 0, store, 0);
    struct pollfd wait = {fd, POLLIN, 0};
    SAME(poll(&wait, 1, -1), 1);
    struct uffd_msg fault;
    SAME(read(fd, &fault, sizeof fault), sizeof fault);
    SAME(fault.arg.pagefault.address & -4096, page);
    pthread_kill(thread, SIGUSR1);
    while (!handled) sched_yield();
    SAME(handled, SIGUSR1); SAME(stored, 0);
    struct uffdio_zeropage zero = {.range = {(u64)page, 4096}};
    SAME(ioctl(fd, UFFDIO_ZEROPAGE, &zero), 0);
    pthread_join(thread, 0);
    SAME(stored, 1); SAME(*page, 7);
    FINISH();
}
