// Pages that are writable and executable at a time: data beside hot code, code patched a few
// times and then left alone, patched over and over, in turns, and right before it runs. The
// second argument is how much of each; `benches/RESULTS.md` has times.
//@ variants: pie nopie
//@ run: beside 1 => exit 0
//@ run: once 1 => exit 0
//@ run: patched 1 => exit 0
//@ run: turns 1 => exit 0
//@ run: next 1 => exit 0
//@ run: interrupted 1 => exit 0
#include "guest.h"
#include <signal.h>
#include <sys/time.h>

typedef unsigned (*code_t)(unsigned);
static unsigned char *page;

static code_t put(int at, const void *code, int len) {
    memcpy(page + at, code, len);
    return (code_t)(page + at);
}

// A loop that counts in a word of its own page, 2 KiB behind it.
static unsigned beside(long much) {
    code_t loop =
        put(0, "\xff\x05\xfa\x07\x00\x00\x83\xef\x01\x75\xf5\x8b\x05\xef\x07\x00\x00\xc3", 18);
    unsigned sum = 0;
    for (long n = 0; n < 100 * much; n++) sum += loop(10000);
    return sum;
}

// Adds `add` as often as it is told.
static code_t adder(int at, unsigned add) {
    code_t loop = put(at, "\x31\xc0\x05\x00\x00\x00\x00\x83\xef\x01\x75\xf6\xc3", 13);
    memcpy(page + at + 3, &add, 4);
    return loop;
}

static unsigned once(long much) {
    code_t loop = adder(0, 1);
    unsigned sum = 0;
    for (unsigned n = 0; n < 40; n++) memcpy(page + 3, &n, 4), sum += loop(10);
    for (long n = 0; n < 1000 * much; n++) sum += loop(1000);
    return sum;
}

static unsigned patched(long much) {
    code_t loop = adder(0, 1), other = adder(64, 5);
    unsigned sum = 0;
    for (unsigned n = 0; n < 2000 * much; n++)
        memcpy(page + 3, &n, 4), sum += loop(10) + other(100);
    return sum;
}

static unsigned turns(long much) {
    code_t loop = adder(0, 1);
    unsigned sum = 0;
    for (unsigned turn = 0; turn < 10 * much; turn++) {
        for (unsigned n = 0; n < 50; n++) memcpy(page + 3, &n, 4), sum += loop(10);
        for (unsigned n = 0; n < 2000; n++) sum += loop(1000) ^ n;
    }
    return sum;
}

// Writes what the next instruction returns.
static unsigned next(long much) {
    code_t code = put(128, "\x89\x3d\x01\x00\x00\x00\xb8\x00\x00\x00\x00\xc3", 12);
    unsigned sum = 0;
    for (unsigned n = 0; n < 2000 * much; n++) {
        if (code(n) != n) abort();
        sum += code(n / 100);
    }
    return sum;
}

static code_t in_handler;
static void handler(int signal) {
    (void)signal;
    if (in_handler(7) != 21) abort();
}

// All of it, with a signal every now and then that finds code of the page at any place.
static unsigned interrupted(long much) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    in_handler = adder(1024, 3);
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &often, 0);
    unsigned sum = beside(much) + once(much) + patched(much) + next(much);
    setitimer(ITIMER_REAL, &never, 0);
    return sum;
}

int main(int argc, char **argv) {
    const char *what = argv[1];
    long much = atol(argv[2]);
    page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned sum = !strcmp(what, "beside") ? beside(much)
        : !strcmp(what, "once") ? once(much)
        : !strcmp(what, "patched") ? patched(much)
        : !strcmp(what, "turns") ? turns(much)
        : !strcmp(what, "next") ? next(much) : interrupted(much);
    printf("%s %u\n", what, sum);
    FINISH();
}
