// Code that changes code through a second view, in a straight line: what is behind the
// store, after a jump, has the new bytes; flags and registers are those of the program
// whatever the change is found out at; code that another thread changes gives the old
// value or the new, and after a join the new one.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static u8 *w, *x; static int at;
static void put(const void *code, int len) { memcpy(w + at, code, len); at += len; }
#define CODE(...) do { u8 bytes[] = {__VA_ARGS__}; put(bytes, sizeof bytes); } while (0)
typedef u64 (*with)(u64, u64, u64);
static volatile int stop;
static void *runner(void *a) {
    u64 bad = 0;
    while (!stop) {
        u32 v = ((function)(x + 2048))();
        bad += v != 111 && v != 222;
    }
    return (void *)bad;
}
static void flags(void) {
    // cmp edi, esi; jmp +0; then 16 bytes that are changed: with dead flags, or
    // reading all of them.
    u8 kills[16] = {0x31, 0xc0, 0x39, 0xd1, 0x31, 0xc0, 0xc3}, reads[16] = {0x9c, 0x58, 0xc3},
       sets[16] = {0x0f, 0x92, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3}, rax[16] = {0x89, 0xc8, 0xc3};
    at = 512;
    CODE(0x51, 0x48, 0x89, 0xd1, 0x48, 0x89, 0xd0, 0x39, 0xf7, 0x59, 0x48, 0x89, 0xd1, 0xeb, 0x00);
    int hole = at;
    u8 *all[] = {kills, reads, sets, rax};
    for (u64 i = 0; i < 400; i++) {
        memcpy(w + hole, all[i * 7 / 3 % 4], 16);
        u32 a = i * 0x9e3779b9, b = i % 5 ? i * 0x85ebca6b : a;
        for (int again = 0; again < 3; again++) {
            u64 got = ((with)(x + 512))(a, b, i), want = 0;
            u64 f;
            asm("cmp %2, %1; pushfq; pop %0" : "=r"(f) : "r"(a), "r"(b) : "cc");
            if (all[i * 7 / 3 % 4] == reads) got &= 0x8d5, want = f & 0x8d5;
            else if (all[i * 7 / 3 % 4] == sets) want = f & 1;
            else if (all[i * 7 / 3 % 4] == rax) want = i;
            SAME(got, want);
        }
    }
}
int main(void) {
    int fd = memfd_create("code", 0);
    ftruncate(fd, 8192);
    w = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
    x = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    CHECK(w != MAP_FAILED && x != MAP_FAILED);
    // mov [rdi], esi; jmp +0; mov eax, imm; mov [rdi+imm..], .. ; ret: the store hits
    // the immediate behind it.
    at = 0;
    CODE(0x89, 0x37, 0xeb, 0x00, 0xb8);
    int first = at;
    CODE(0, 0, 0, 0, 0x89, 0x17, 0xeb, 0x00, 0x05);
    int second = at;
    CODE(0, 0, 0, 0, 0xc3);
    for (u32 i = 0; i < 200; i++) {
        SAME(((with)x)((u64)(w + first), i * 3, i), i * 3);
        SAME(*(u32 *)(x + first), i);
        SAME(((with)x)((u64)(w + second), i, i * 5), i * 6);
        memset(w + second, 0, 4);
        memset(w + first, 0, 4);
    }
    flags();
    // Many pieces in one line, each behind a store.
    at = 1024;
    for (int i = 0; i < 20; i++) CODE(0x83, 0x07, 0x01, 0x83, 0xc0, 0x00);
    CODE(0xc3);
    u32 cell = 0;
    for (u32 i = 0; i < 100; i++) {
        u32 was = cell;
        w[1024 + 6 * (i % 20) + 2] = i % 7;
        int sum = 0;
        for (int k = 0; k < 20; k++) sum += w[1024 + 6 * k + 2];
        ((with)(x + 1024))((u64)&cell, 0, 0);
        SAME(cell - was, sum);
    }
    emit_return(w + 2048 + 64, 111);
    emit_return(w + 2048 + 128, 222);
    at = 2048;
    CODE(0x90, 0x90, 0x90, 0xe9);
    *(u32 *)(w + 2052) = 64 - 8;
    pthread_t t;
    pthread_create(&t, 0, runner, 0);
    for (int i = 0; i < 300; i++) {
        __atomic_store_n((u32 *)(w + 2052), (i % 2 ? 64 : 128) - 8, __ATOMIC_SEQ_CST);
        SAME(((function)(x + 2048))(), i % 2 ? 111 : 222);
        if (i % 10 == 0) usleep(200);
    }
    stop = 1;
    void *bad;
    pthread_join(t, &bad);
    SAME(bad, 0);
    SAME(((function)(x + 2048))(), 111);
    FINISH();
}
