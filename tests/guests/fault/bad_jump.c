// Control goes where no code is, by call, jump and return: unmapped, not executable, null,
// the kernel's; rip and si_addr name the target. An address that is not canonical faults at
// the branch itself: rip stays at it, and a return has not popped yet.
//@ variants: pie static
//@ cflags: -O1
#include "guest.h"
#include <setjmp.h>
static sigjmp_buf back;
static u8 *data;
extern u8 by_jump[], by_ret[], by_call[], by_far[], by_push[];
extern void jump(void *), ret_to(void *), call_to(void *), ret_far(void *), push_to(void *);
asm(".text\njump: .globl by_jump, by_ret, by_call, by_far, by_push\nby_jump: jmp *%rdi\n"
    "ret_to: push %rdi\nmov $0x11, %ecx\nmov $0x22, %edx\nmov %rsp, %rbx\nby_ret: ret\ncall_to: "
    "push %rax\nby_call: call *%rdi\npop %rax; ret\n"
    "ret_far: sub $0x98, %rsp; push %rdi\nmov $0x11, %ecx\nmov $0x22, %edx\nmov %rsp, "
    "%rbx\nby_far: ret $0x98\n"
    "push_to: mov $0x11, %ecx\nmov $0x22, %edx\nlea -8(%rsp), %rbx\npush %rdi\nby_push: ret\n");
static const char *name(u64 v) {
    static char text[40];
    if (v == (u64)data) return "data";
    if (v == (u64)by_jump) return "jmp";
    if (v == (u64)by_ret) return "ret";
    if (v == (u64)by_call) return "call";
    if (v == (u64)by_far) return "far ret";
    if (v == (u64)by_push) return "push and ret";
    sprintf(text, "%lx", v);
    return text;
}
static void handler(int s, siginfo_t *i, void *c) {
    printf("signal %d code %d rip %s ", s, i->si_code, name(GREG(c, REG_RIP)));
    printf("addr %s error %llx ", name((u64)i->si_addr), GREG(c, REG_ERR));
    if (GREG(c, REG_RCX) == 0x11 && GREG(c, REG_RDX) == 0x22)
        printf("registers stay, popped %lld", GREG(c, REG_RSP) - GREG(c, REG_RBX));
    puts("");
    siglongjmp(back, 1);
}
int main(void) {
    on(SIGSEGV, handler, 0);
    data = pages(1, PROT_READ | PROT_WRITE);
    data[0] = 0xc3;
    void *targets[] = {0,
                       data,
                       (void *)0x1000,
                       (void *)0x7ffffffff000,
                       (void *)-1L,
                       (void *)0xffffffff80000000,
                       (void *)0x8000000000000000,
                       (void *)0x1234567812345678,
                       (void *)(1L << 47),
                       (void *)0xffffffffffff,
                       (void *)(1L << 48),
                       (void *)(1L << 55),
                       (void *)(1L << 56),
                       (void *)0xff00000000000000,
                       (void *)0xffff7fffffffffff,
                       (void *)0xffff800000000000};
    u64 count = sizeof targets / sizeof *targets;
    void (*ways[])(void *) = {jump, ret_to, call_to, ret_far, push_to};
    for (int r = 0; r < 2; r++)
        for (u64 t = 0; t < count; t++)
            for (int w = 0; w < 5; w++)
                if (!sigsetjmp(back, 1)) {
                    ways[w](targets[t]);
                    puts("returned");
                }
    FINISH();
}
