// Code changed by the kernel on the program's behalf: read() and pread() into it, readv,
// process_vm_writev, recv; a call that fails must not change the rules.
#include "guest.h"
#include <sys/socket.h>
#include <sys/uio.h>
int main(void) {
    u8 *p = pages(1, 7), b[6];
    int fd = open("code", O_RDWR | O_CREAT | O_TRUNC, 0600), s[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    for (u32 i = 0; i < 300; i++) {
        emit_return(b, i); pwrite(fd, b, 6, 0); struct iovec v = {p, 6}, w = {b, 6};
        switch (i % 5) {
        case 0:
            SAME(pread(fd, p, 6, 0), 6);
            break;
        case 1:
            lseek(fd, 0, SEEK_SET);
            SAME(read(fd, p, 6), 6);
            break;
        case 2:
            SAME(preadv(fd, &v, 1, 0), 6);
            break;
        case 3:
            SAME(process_vm_writev(getpid(), &w, 1, &v, 1, 0), 6);
            break;
        default:
            send(s[0], b, 6, 0);
            SAME(recv(s[1], p, 6, 0), 6);
        }
        SAME(((function)p)(), i); SAME(read(99, p, 6), -1); SAME(((function)p)(), i);
    }
    u8 *q = pages(1, PROT_READ | PROT_EXEC);
    SAME(pread(fd, q, 6, 0), -1);
    SAME(errno, EFAULT);
    FINISH();
}
