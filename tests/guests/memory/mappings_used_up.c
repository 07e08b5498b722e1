// A program maps until it may not any more: how often it can, but for what ppin itself needs.
#include "guest.h"
// The number goes to the file that is named; output is the same everywhere.
int main(int argc, char **argv) {
    char number[16];
    int n = 0, file = argc > 1 ? creat(argv[1], 0600) : -1;
    while (mmap(0, 4096, n % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED)
        n++;
    SAME(errno, ENOMEM);
    if (argc > 1) SAME(write(file, number, sprintf(number, "%d", n)) > 0, 1);
    return 0;
}
