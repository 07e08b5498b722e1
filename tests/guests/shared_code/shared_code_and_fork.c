// Code in shared anonymous memory, run before a fork: parent and child then change each
// other's code, and each sees the change at its next call.
#include "guest.h"
static u8 *code; static volatile u32 *turn;
// A loop around the call, which is linked: return sum of n calls.
static u32 calls(int n, int at) {
    u32 sum = 0;
    for (int i = 0; i < n; i++) sum += ((function)(code + at))();
    return sum;
}
static void play(u32 me) {
    for (u32 round = 0; round < 40; round++) {
        while (*turn != 2 * round + me) sched_yield();
        if (round + me) SAME(calls(10, 0), 10 * (2 * round + me - 1));
        emit_return(code, 2 * round + me);
        emit_return(code + 64 * (round % 8), 2 * round + me);
        SAME(calls(3, 0), 3 * (2 * round + me));
        *turn = 2 * round + me + 1;
    }
}
int main(void) {
    code = mmap(0, 8192, 7, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    turn = (volatile u32 *)(code + 4096);
    CHECK(code != MAP_FAILED);
    emit_return(code, 7); for (int i = 0; i < 3; i++) SAME(calls(100, 0), 700);
    pid_t child = fork(); play(child == 0); if (!child) _exit(failures);
    int status; waitpid(child, &status, 0); SAME(status, 0); SAME(calls(10, 0), 790);
    // A child that ends leaves what it wrote; one that has never run the code writes, too.
    for (u32 v = 1; v < 20; v++) {
        child = vfork();
        if (!child) {
            *(u32 *)(code + 1) = v;
            _exit(0);
        }
        waitpid(child, &status, 0);
        SAME(calls(5, 0), 5 * v);
        child = fork();
        if (!child) {
            *(u32 *)(code + 1) = 1000 + v;
            _exit(0);
        }
        waitpid(child, &status, 0);
        SAME(calls(5, 0), 5 * (1000 + v));
    }
    FINISH();
}
