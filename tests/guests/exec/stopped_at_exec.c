// A process group is stopped while one of it executes a program: the stop is seen as of any
// program, and SIGCONT to the process alone is enough. (A helper of ppin's in that group was
// stopped along, and waited for.)
#include "guest.h"
static char state_of(pid_t k) {
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", k);
    FILE *f = fopen(path, "r");
    if (!f) return '-';
    fread(text, 1, sizeof text - 1, f), fclose(f);
    char *end = strrchr(text, ')');
    return end ? end[2] : '-';
}
static void wait_for_state(pid_t k, char wanted) {
    char now = 0;
    for (int i = 0; i < 5000 && (now = state_of(k)) != wanted; i++) usleep(1000);
    SAME(now, wanted);
}
static int one(char *self, int delay) {
    int st; pid_t k = fork();
    if (!k) { setpgid(0, 0); execl(self, self, "child", (char *)0); _exit(9); }
    setpgid(k, k);
    usleep(delay);
    kill(-k, SIGSTOP);
    SAME(waitpid(k, &st, WUNTRACED), k);
    int stopped = WIFSTOPPED(st);
    if (stopped) {
        SAME(WSTOPSIG(st), SIGSTOP);
        wait_for_state(k, 'T');
        kill(k, SIGCONT);
        SAME(waitpid(k, &st, 0), k);
    }
    SAME(st, 7 << 8);
    return stopped;
}
int main(int argc, char **argv) {
    if (argc > 1) return 7;
    int stops = 0;
    for (int i = 0; i < 150; i++) stops += one(argv[0], i * 40);
    CHECK(stops > 0);
    FINISH();
}
