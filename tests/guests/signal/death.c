// The program itself dies of a signal: the caller must see that signal, not a status.
//@ variants: pie static
//@ run: 1 => signal HUP
//@ run: 2 => signal INT
//@ run: 4 => signal ILL
//@ run: 6 => signal ABRT
//@ run: 8 => signal FPE
//@ run: 9 => signal KILL
//@ run: 11 => signal SEGV
//@ run: 13 => signal PIPE
//@ run: 15 => signal TERM
//@ run: fault => signal SEGV
//@ run: jump => signal SEGV
//@ run: divide => signal FPE
//@ run: trap => signal TRAP
//@ run: ill => signal ILL
#include "guest.h"
#include <sys/resource.h>
int main(int argc, char **argv) {
    struct rlimit none = {0, 0}; setrlimit(RLIMIT_CORE, &none);
    printf("before %s\n", argv[1]); fflush(stdout);
    if (!strcmp(argv[1], "fault")) *(volatile int *)8 = 1;
    if (!strcmp(argv[1], "jump")) ((void (*)(void))8)();
    if (!strcmp(argv[1], "divide")) divide_by_zero();
    if (!strcmp(argv[1], "trap")) asm volatile("int3");
    if (!strcmp(argv[1], "ill")) asm volatile("ud2");
    kill(getpid(), atoi(argv[1]));
    puts("alive");
}
