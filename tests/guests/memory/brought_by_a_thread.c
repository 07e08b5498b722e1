// Code may lie in pages that another thread brings when they are wanted (userfaultfd(2)), as
// may what a system call gets. No page is asked for that the CPU does not need, and who waits
// for one handles signals.
//@ libs: -lpthread
//@ timeout: 20
#include "guest.h"
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>

enum { CODE, REST, LATE, ACTION, STACK, MASK = STACK + 8, PAGES };
static int fd;
static volatile int asked, handled;
static u8 *memory, *contents;
static pthread_t caller;

static void handler(int signal) { handled = signal; }
static void *serve(void *unused) {
    struct pollfd wait = {fd, POLLIN, 0};
    struct uffd_msg message;
    while (poll(&wait, 1, -1) == 1 && read(fd, &message, sizeof message) == sizeof message) {
        u64 page = message.arg.pagefault.address & -4096, at = page - (u64)memory;
        asked++;
        if (at / 4096 == LATE) {
            pthread_kill(caller, SIGUSR2);
            while (handled != SIGUSR2) sched_yield();
        }
        struct uffdio_copy copy = {page, (u64)contents + at, 4096, 0, 0};
        ioctl(fd, UFFDIO_COPY, &copy);
    }
    return unused;
}
static int call(int at) { return ((int (*)(void))(memory + at))(); }
int main(void) {
    fd = syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api)) { puts("no userfaultfd for calls here"); return 0; }
    memory = pages(PAGES, 7), contents = pages(PAGES, 3);
    struct uffdio_register range = {{(u64)memory, PAGES * 4096}, UFFDIO_REGISTER_MODE_MISSING, 0};
    SAME(ioctl(fd, UFFDIO_REGISTER, &range), 0);
    pthread_t thread;
    caller = pthread_self();
    signal(SIGUSR2, handler);
    emit_return(contents + CODE * 4096, 42);
    emit_return(contents + CODE * 4096 + 4000, 43);
    emit_return(contents + REST * 4096 - 2, 44);
    emit_return(contents + LATE * 4096, 45);
    ((struct sigaction *)(contents + ACTION * 4096))->sa_handler = handler;
    ((struct sigaction *)(contents + ACTION * 4096))->sa_flags = SA_ONSTACK;
    pthread_create(&thread, 0, serve, 0);

    SAME(call(CODE * 4096), 42); SAME(asked, 1);
    SAME(call(CODE * 4096 + 4000), 43); SAME(asked, 1);
    SAME(call(REST * 4096 - 2), 44); SAME(asked, 2);
    SAME(call(LATE * 4096), 45); SAME(asked, 3); SAME(handled, SIGUSR2);
    SAME(madvise(memory, 4096, MADV_DONTNEED), 0);
    emit_return(contents + CODE * 4096, 46);
    SAME(call(CODE * 4096), 46); SAME(asked, 4);

    sigaction(SIGUSR1, (void *)(memory + ACTION * 4096), 0); SAME(asked, 5);
    stack_t stack = {memory + STACK * 4096, 0, 8 * 4096};
    SAME(sigaltstack(&stack, 0), 0);
    raise(SIGUSR1); SAME(handled, SIGUSR1);
    int before = asked;
    SAME(syscall(SYS_rt_sigprocmask, SIG_BLOCK, memory + MASK * 4096, 0, 8), 0);
    SAME(asked, before + 1);
    FINISH();
}
