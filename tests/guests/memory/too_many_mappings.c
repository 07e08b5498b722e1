// A program that has as many mappings as it may have goes on: code it has not run before,
// signals, threads that need none, a fork.
#include "want.h"
int main(void) {
    char line[64];
    int n = 0;
    setvbuf(stdout, line, _IOLBF, sizeof line);
    while (mmap(0, 4096, n % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED)
        n++;
    SAME(errno, ENOMEM);
    go_on();
    FINISH();
}
