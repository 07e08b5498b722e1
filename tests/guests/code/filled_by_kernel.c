// The kernel fills memory in which code lies, page by page, with what it has once: whole
// reads, messages of sockets, pipes and queues, the status of a child, a peer's address.
#include "guest.h"
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
typedef int (*code)(void);
enum { PAGES = 4, SIZE = PAGES * 4096 };
static u8 *p, image[SIZE], *at;
static void put(u8 *to, int value) {
    u8 text[] = {0xb8, value, 0, 0, 0, 0xc3};
    memcpy(to, text, sizeof text);
}
// Makes the page at `at` a place of code that has run.
static void arm(void) { put(at, 9); SAME(((code)at)(), 9); }
static void filled(long length, int page) { SAME(length, SIZE); SAME(((code)at)(), 40 + page); }
int main(void) {
    p = pages(PAGES, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int i = 0; i < PAGES; i++) put(image + i * 4096, 40 + i);
    int fd = memfd_create("image", 0), s[2], q = msgget(IPC_PRIVATE, 0600); write(fd, image, SIZE);
    for (int round = 0; round < 3; round++) for (int i = 0; i < PAGES; i++) {
            at = p + i * 4096;
            struct iovec v[2] = {{p, 100}, {p + 100, SIZE - 100}}, from = {image, SIZE};
            arm();
            lseek(fd, 0, SEEK_SET);
            filled(read(fd, p, SIZE), i);
            arm();
            filled(pread(fd, p, SIZE, 0), i);
            arm();
            filled(preadv(fd, v, 2, 0), i);
            arm();
            filled(process_vm_readv(getpid(), v, 2, &from, 1, 0), i);
            pipe(s);
            fcntl(s[1], F_SETPIPE_SZ, 65536);
            write(s[1], image, SIZE);
            arm();
            filled(read(s[0], p, SIZE), i);
            close(s[0]);
            close(s[1]);
            for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
                socketpair(AF_UNIX, type, 0, s);
                write(s[1], image, SIZE);
                arm();
                filled(recv(s[0], p, SIZE, 0), i);
                struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
                write(s[1], image, SIZE);
                arm();
                filled(recvmsg(s[0], &m, 0), i);
                struct mmsghdr mm = {{.msg_iov = v, .msg_iovlen = 2}};
                write(s[1], image, SIZE);
                arm();
                SAME(recvmmsg(s[0], &mm, 1, 0, 0), 1);
                filled(mm.msg_len, i);
                close(s[0]);
                close(s[1]);
        }
        struct { long type; u8 text[6]; } m = {0x9090909090909090 & ~(1ul << 63)}; put(m.text, 5);
        SAME(msgsnd(q, &m, 6, 0), 0);
        arm();
        SAME(msgrcv(q, at - 0, 6, 0, 0), 6);
        SAME(((code)(at + 8))(), 5);
        pid_t k = fork();
        if (!k) _exit(i);
        arm();
        SAME(wait4(k, (int *)(at + 64), 0, (struct rusage *)(at + 128)), k);
        SAME(*(int *)(at + 64), i << 8);
        SAME(((code)at)(), 9);
        if (!fork()) _exit(i);
        arm();
        SAME(waitid(P_ALL, 0, (siginfo_t *)(at + 64), WEXITED), 0);
        SAME(((siginfo_t *)(at + 64))->si_status, i);
        arm(); SAME(getrandom(at + 64, 2048, 0), 2048);
        int l = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_un a = {AF_UNIX};
        bind(l, (void *)&a, 2);
        listen(l, 1);
        socklen_t n = sizeof a;
        getsockname(l, (void *)&a, &n);
        SAME(connect(c, (void *)&a, n), 0);
        *(socklen_t *)(at + 64) = 100;
        arm();
        int got = accept(l, (void *)(at + 128), (socklen_t *)(at + 64));
        CHECK(got >= 0);
        SAME(*(socklen_t *)(at + 64), 2);
        close(got);
        close(c);
        close(l);
    }
    msgctl(q, IPC_RMID, 0);
    FINISH();
}
