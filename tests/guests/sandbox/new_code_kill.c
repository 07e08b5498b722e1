// Only write and exit_group are left, all else kills: two thousand functions that have
// not run before, code in memory that was made executable before, and code rewritten
// again and again have to be translated without a single call.
//@ variants: pie static
//@ run: => exit 7
#include "sandbox.h"
ALL(F100)
static u64 (*const functions[])(u64) = {ALL(N100)};

int main(void) {
    no_core();
    u8 *before = pages(16, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int n = 0; n < 4096; n++) emit_return(before + 16 * n, n);
    // Some of it runs, so that it is watched when the filter comes.
    u32 warm = ((function)before)() + ((function)(before + 160))();
    static const int allowed[] = {SYS_write, SYS_exit_group, -1};
    if (confine(allowed, SECCOMP_RET_KILL_PROCESS, 0)) return 98;
    u64 x = warm;
    for (unsigned n = 0; n < sizeof functions / sizeof *functions; n++) x = functions[n](x);
    say_number("functions ", x);
    u64 sum = 0;
    for (int n = 0; n < 4096; n++) sum += ((function)(before + 16 * n))();
    say_number("before ", sum);
    for (int round = 0; round < 3000; round++) {
        u8 *at = before + 16 * (round % 7);
        emit_return(at, round * 5);
        sum += ((function)at)();
    }
    say_number("rewritten ", sum);
    leave(7);
}
