// atexit in reverse order, destructors, quick_exit, _exit without flushing, return from
// main, exit in a handler.
//@ variants: pie static
//@ run: return => exit 4
//@ run: exit => exit 5
//@ run: quick => exit 6
//@ run: under => exit 7
//@ run: handler => exit 8
#include "guest.h"
static void one(void) { puts("one"); }
static void two(void) { puts("two"); }
static void quick(void) {
    puts("quick");
    fflush(stdout);
}
__attribute__((constructor)) static void before(void) { puts("constructor"); }
__attribute__((destructor)) static void after(void) { puts("destructor"); }
static void handler(int s, siginfo_t *i, void *c) { exit(8); }
int main(int argc, char **argv) {
    atexit(one); atexit(two); at_quick_exit(quick);
    switch (argv[1][0]) {
    case 'r':
        return 4;
    case 'e':
        exit(5);
    case 'q':
        quick_exit(6);
    case 'u':
        puts("lost");
        _exit(7);
    default:
        on(SIGSEGV, handler, 0);
        *(volatile int *)8 = 0;
    }
}
