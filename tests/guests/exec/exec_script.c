// Scripts: a shebang with an argument, a script as another's interpreter, a missing
// interpreter, a text file without shebang (ENOEXEC from execve, sh from execvp).
#include "guest.h"
static void write_file(const char *name, const char *text) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    write(fd, text, strlen(text));
    close(fd);
}
static void try(const char *what, int search, char *file) {
    pid_t k = fork();
    if (!k) {
        char *a[] = {file, "one", "two words", 0};
        if (search) execvp(file, a);
        else execv(file, a);
        printf("%s\n", strerror(errno));
        exit(9);
    }
    report_child(what, k);
    fflush(stdout);
}
int main(void) {
    write_file("a.sh", "#!/bin/sh -e\necho \"$0 $# $2\"\nfalse\necho no\n");
    write_file("b", "#! ./a.sh   x y \nbody\n");
    write_file("c", "#!/no/such\n");
    write_file("d", "echo plain $1; exit 7\n");
    write_file("e", "");
    setvbuf(stdout, 0, _IONBF, 0);
    try("shebang", 0, "./a.sh");
    try("script as interpreter", 0, "./b");
    try("missing", 0, "./c");
    try("plain", 0, "./d");
    try("plain by path", 1, "./d");
    try("empty", 0, "./e");
    chmod("a.sh", 0644);
    try("mode", 0, "/etc/passwd");
    FINISH();
}
