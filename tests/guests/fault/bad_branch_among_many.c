// Branches that have gone to good places a thousand times go to an address that is not
// canonical: rip is that of the very branch, of several returns and jumps that are alike.
//@ variants: pie static
//@ cflags: -O1
#include "guest.h"
#include <setjmp.h>
static sigjmp_buf back;
extern u8 good[], ret_0[], ret_1[], ret_2[], jmp_0[], jmp_1[], call_0[], call_1[];
extern void go(void *to, long which);
asm(".text\n.globl good, ret_0, ret_1, ret_2, jmp_0, jmp_1, call_0, call_1\n"
    "leaf: ret\n"
    "good: call leaf; ret\n"
    "go: call leaf; call other\n"
    "cmp $1, %esi; jb 0f; je 1f; cmp $3, %esi; jb 2f; je 3f; cmp $5, %esi; jb 4f; je 5f\n"
    "call leaf; call_1: call *%rdi\nret\n"
    "0: push %rdi; call leaf; ret_0: ret\n"
    "1: push %rdi; call other; ret_1: ret\n"
    "2: sub $16, %rsp; push %rdi; call leaf; ret_2: ret $16\n"
    "3: call other; jmp_0: jmp *%rdi\n"
    "4: push %rdi; pop %rax; jmp_1: jmp *%rax\n"
    "5: call_0: call *%rdi\ncall leaf; ret\n"
    "other: call leaf; test %esi, %esi; je 6f; ret; 6: ret\n");
static const char *name(u64 v) {
    struct { u8 *at; const char *name; } all[] = {
        {ret_0, "ret 0"}, {ret_1, "ret 1"}, {ret_2, "ret 2"}, {jmp_0, "jmp 0"},
        {jmp_1, "jmp 1"}, {call_0, "call 0"}, {call_1, "call 1"}};
    for (int i = 0; i < 7; i++)
        if (v == (u64)all[i].at) return all[i].name;
    return "elsewhere";
}
static u64 sp;
static void handler(int s, siginfo_t *i, void *c) {
    printf("signal %d code %d at %s, rsp %ld\n", s, i->si_code, name(GREG(c, REG_RIP)),
           (long)(GREG(c, REG_RSP) - sp));
    siglongjmp(back, 1);
}
int main(void) {
    on(SIGSEGV, handler, 0);
    for (int round = 0; round < 3; round++)
        for (long which = 0; which < 7; which++) {
            for (int i = 0; i < 1000; i++) go(good, which);
            asm volatile("mov %%rsp, %0" : "=r"(sp));
            if (!sigsetjmp(back, 1)) {
                go((void *)(0x4141414141414141 + which), which);
                puts("returned");
            }
        }
    FINISH();
}
