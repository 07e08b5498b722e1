// Indirect jumps and calls to each of many addresses that are one byte apart.
//@ variants: pie static
//@ cflags: -O1
#include "guest.h"
enum { N = 200 };
static u8 room[N + 8];
// Runs on at `to` with rdi at `room`: each `stosb` there moves it on by one.
static long by_call(u8 *to) {
    u8 *end = room;
    asm volatile("call *%1" : "+D"(end) : "r"(to), "a"(7) : "memory", "cc");
    return end - room;
}
static long by_jump(u8 *to) {
    u8 *end = room;
    asm volatile("lea 1f(%%rip), %%rcx; sub $136, %%rsp; push %%rcx; jmp *%1\n1: add $136, %%rsp"
                 : "+D"(end) : "r"(to), "a"(7) : "memory", "cc", "rcx");
    return end - room;
}
int main(void) {
    u8 *code = pages(1, PROT_READ | PROT_WRITE);
    memset(code, 0xaa, N);
    code[N] = 0xc3;
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    unsigned seed = 1, wrong = 0;
    for (int i = 0; i < 60000; i++) {
        seed = seed * 1664525 + 1013904223;
        // Sometimes neighbours in turn, sometimes any.
        int at = i & 4096 ? (i & 3) : (int)(seed >> 8) % N;
        wrong += by_call(code + at) != N - at;
        wrong += by_jump(code + at) != N - at;
    }
    printf("%u wrong\n", wrong);
    FINISH();
}
