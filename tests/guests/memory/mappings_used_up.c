// A program maps until it may not any more: how often it can, but for what ppin itself needs.
#include "guest.h"
// The number goes to the file that is named; output is the same everywhere.
int main(int argc, char **argv) {
    int n = 0;
    while (mmap(0, 4096, n % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) n++;
    SAME(errno, ENOMEM);
    if (argc > 1) {
        FILE *file = fopen(argv[1], "w");
        fprintf(file, "%d", n), fclose(file);
    }
    return 0;
}
