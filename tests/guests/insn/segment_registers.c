// The program's own use of FS and GS: rdfsbase, wrgsbase, arch_prctl, gs-relative loads,
// stores and calls, kept over system calls, signals and threads.
//@ needs: fsgsbase
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
#include <asm/prctl.h>
static u64 block[8] = {11, 22, 33, 44}, other[8] = {55};
static u64 gs0(void) { u64 v; asm volatile("mov %%gs:0, %0" : "=r"(v)); return v; }
static void handler(int s, siginfo_t *i, void *c) { SAME(gs0(), 11); }
static void *thread(void *arg) {
    u64 base = 1; asm volatile("rdgsbase %0" : "=r"(base)); SAME(base, block);
    asm volatile("wrgsbase %0" ::"r"(other)); SAME(gs0(), 55); return 0;
}
static u64 called(void) { return 77; }
int main(void) {
    u64 v, tid_base;
    asm volatile("rdfsbase %0; mov %%fs:0, %1" : "=r"(v), "=r"(tid_base));
    SAME(v, tid_base);
    SAME(v, pthread_self());
    asm volatile("rdgsbase %0" : "=r"(v)); SAME(v, 0);
    asm volatile("wrgsbase %0; rdgsbase %1" ::"r"(block), "r"(v)); SAME(gs0(), 11);
    asm volatile("mov %%gs:8, %0; addq $1, %%gs:8; add %%gs:8, %0" : "=r"(v)::"cc", "memory");
    SAME(v, 45);
    SAME(block[1], 23);
    on(SIGUSR1, handler, 0); raise(SIGUSR1); SAME(gs0(), 11);
    u64 got = 0; syscall(SYS_arch_prctl, ARCH_GET_GS, &got); SAME(got, block);
    pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0); SAME(gs0(), 11);
    syscall(SYS_arch_prctl, ARCH_SET_GS, other); SAME(gs0(), 55);
    other[3] = (u64)called;
    asm volatile("call *%%gs:24"
                 : "=a"(v)::"rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
    SAME(v, 77);
    u8 image[64];
    asm volatile("movdqu %%gs:0, %%xmm0; movdqu %%xmm0, %0; lea %%gs:5, %1"
                 : "=m"(image), "=r"(v)::"xmm0");
    SAME(v, 5);
    SAME(image[0], 55);
    FINISH();
}
