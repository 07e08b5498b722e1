// /proc/self/maps and smaps as natively: no mapping more than the program made, pages of
// code that was executed and may be written to shown writable, and all of it as it is
// when it is read, not when the file was opened.
#include "guest.h"
#include <sys/uio.h>

static char text[1 << 18], first[1 << 18];

// Anonymous mappings are counted where the program may have some: not what the loader does.
static void show(const char *what, u8 *code) {
    int lines = 0, nameless = 0;
    for (char *l = strtok(text, "\n"); l; l = strtok(0, "\n")) {
        unsigned long from, to;
        char perms[8], path[4096] = "";
        if (sscanf(l, "%lx-%lx %7s %*s %*s %*s %4095s", &from, &to, perms, path) < 3) continue;
        lines++, nameless += !*path;
        if (from <= (u64)code && (u64)code < to)
            printf("%s: %s, %lu pages before, %lu behind\n", what, perms, ((u64)code - from) / 4096,
                   (to - (u64)code) / 4096);
    }
    printf("%s: %d lines, %d without a name\n", what, lines, nameless);
}
static int all(int fd) {
    int len = 0, n;
    while ((n = read(fd, text + len, sizeof text - 1 - len)) > 0) len += n;
    text[len] = 0;
    return len;
}
int main(void) {
    u8 *code = pages(5, 7) + 2 * 4096;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC),
        other = openat(AT_FDCWD, "/proc/thread-self/maps", O_RDONLY);
    emit_return(code, 7);
    SAME(((function)code)(), 7);
    all(fd), show("maps", code);
    SAME(fcntl(fd, F_GETFD), FD_CLOEXEC); SAME(fcntl(other, F_GETFD), 0);
    SAME(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY); SAME(write(fd, "x", 1), -1);

    // Read again from the start.
    u8 *hole = code + 4096;
    munmap(hole, 4096);
    lseek(fd, 0, SEEK_SET), all(fd), show("again", code);
    SAME(pread(fd, text, 20, 0), 20); text[20] = 0;
    puts(strchr(text, '-') ? "a line" : text);
    struct iovec v = {text, 10};
    SAME(readv(other, &v, 1), 10); all(other), show("rest", code);

    // Each figure of smaps has a line of its own; the flags tell of writing.
    close(other), other = open("/proc/self/smaps", O_RDONLY);
    emit_return(code, 8); SAME(((function)code)(), 8);
    int len = all(other), size = 0, flags = 0;
    memcpy(first, text, len + 1);
    char *at = first;
    char head[40];
    sprintf(head, "%lx-", (u64)code - 2 * 4096);
    if ((at = strstr(first, head)))
        sscanf(strstr(at, "Size:"), "Size: %d", &size),
            flags = !strncmp(strstr(at, "VmFlags:"), "VmFlags: rd wr ex", 17);
    printf("%d kB, flags %d\n", size, flags);

    // Another process, another file with that number.
    fflush(0);
    if (!fork())
        lseek(fd, 0, SEEK_SET), all(fd), show("parent, by its child", code), fflush(0), _exit(0);
    wait(0);
    close(fd); SAME(open("/dev/zero", O_RDONLY), fd); SAME(read(fd, text, 5), 5); SAME(*text, 0);
    FINISH();
}
