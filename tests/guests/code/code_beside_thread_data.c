// Code on a thread's stack or in its local storage shares pages with what the kernel writes
// for the thread at any moment (its rseq area, its id): those cannot be made read-only to
// notice changes of the code.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static _Thread_local _Alignas(4096) u8 area[4096];
// mov byte ptr [rdi], al; ret
static const u8 STORE[] = {0x88, 0x07, 0xc3};
static void *local(void *seen) {
    u8 *code = area + 4000;
    SAME(mprotect(area, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    memcpy(code, STORE, sizeof STORE);
    for (int r = 0; r < 50; r++) {
        asm volatile("call *%0" ::"r"(code), "a"(r), "D"(code + 16) : "memory");
        SAME(code[16], r);
        sched_yield();
    }
    return 0;
}
static void *stacked(void *seen) {
    u8 code[64] = {0x88, 0x07, 0xc3};
    u8 *page = (u8 *)((uintptr_t)code & ~4095ul);
    SAME(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    for (int r = 0; r < 50; r++) {
        asm volatile("call *%0" ::"r"(code), "a"(r), "D"(code + 16) : "memory");
        SAME(code[16], r);
        sched_yield();
    }
    return 0;
}
int main(void) {
    pthread_t t[8];
    for (int k = 0; k < 8; k++) pthread_create(&t[k], 0, k % 2 ? local : stacked, 0);
    for (int k = 0; k < 8; k++) pthread_join(t[k], 0);
    local(0);
    stacked(0);
    FINISH();
}
