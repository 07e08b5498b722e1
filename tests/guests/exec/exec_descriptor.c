// fexecve, execveat with an empty path, and a program in a memfd.
//@ run: => exit 0
#include "guest.h"
#include <sys/sendfile.h>
#include <sys/stat.h>
int main(int argc, char **argv) {
    if (argc > 1) {
        char e[300] = {0};
        readlink("/proc/self/exe", e, 299);
        printf("%s as %s, deleted %d\n", argv[1], argv[0], strstr(e, "deleted") != 0);
        return 3;
    }
    extern char **environ;
    int fd = open("/proc/self/exe", O_RDONLY), m = memfd_create("code", MFD_CLOEXEC);
    struct stat st;
    fstat(fd, &st);
    sendfile(m, fd, 0, st.st_size);
    for (int w = 0; w < 3; w++) {
        pid_t k = fork();
        char *a[] = {"name", w == 0 ? "fexecve" : w == 1 ? "memfd" : "execveat", 0};
        if (!k) {
            if (w == 2) syscall(SYS_execveat, fd, "", a, environ, AT_EMPTY_PATH);
            else fexecve(w ? m : fd, a, environ);
            perror("exec");
            _exit(1);
        }
        report_child(a[1], k);
    }
    FINISH();
}
