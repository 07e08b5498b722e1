// A pipeline of three real programs with data through it, and statuses of all.
#include "guest.h"
int main(void) {
    int a[2], b[2], c[2];
    pipe(a);
    pipe(b);
    pipe(c);
    char *progs[3][4] = {{"tr", "a-z", "A-Z", 0}, {"sort", "-r", 0}, {"uniq", "-c", 0}};
    int in[3] = {a[0], b[0], c[0]};
    int out[3] = {b[1], c[1], 1};
    pid_t k[3];
    fflush(stdout);
    for (int i = 0; i < 3; i++)
        if (!(k[i] = fork())) {
            dup2(in[i], 0);
            dup2(out[i], 1);
            int all[] = {a[0], a[1], b[0], b[1], c[0], c[1]};
            for (int j = 0; j < 6; j++) close(all[j]);
            execvp(progs[i][0], progs[i]);
            _exit(127);
        }
    for (int i = 0; i < 3000; i++) {
        char t[20];
        write(a[1], t, sprintf(t, "line %d\n", i % 7));
    }
    close(a[0]);
    close(a[1]);
    close(b[0]);
    close(b[1]);
    close(c[0]);
    close(c[1]);
    for (int i = 2; i >= 0; i--) report_child(progs[i][0], k[i]);
    FINISH();
}
