// A faulting load and store: every general register, rip, flags, si_addr and the fault
// kind in the handler's context are exactly the program's; the handler then skips it.
//@ variants: pie nopie static
#include "guest.h"
extern u8 load_at[], load_end[], store_at[], store_end[], call_at[], call_end[];
u64 seen[32]; static u8 *at, *end; static int count;
static void handler(int sig, siginfo_t *info, void *c) {
    count++;
    SAME(sig, SIGSEGV);
    SAME(GREG(c, REG_RIP), at);
    SAME(info->si_addr, 0x1230);
    SAME(GREG(c, REG_CR2), 0x1230);
    SAME(info->si_code, SEGV_MAPERR); SAME(GREG(c, REG_TRAPNO), 14);
    printf("error %llx flags %llx\n", GREG(c, REG_ERR), GREG(c, REG_EFL) & 0xcd5);
    static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
                                REG_RDI, REG_RBP, REG_R8,  REG_R9,  REG_R10,
                                REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (int i = 0; i < 15; i++) printf("%d %llx\n", i, GREG(c, order[i]));
    SAME((u64)GREG(c, REG_RSP), seen[0]);
    GREG(c, REG_RIP) = (u64)end;
}
#define LOADED                                                                                     \
    "mov $1, %%eax; mov $2, %%ebx; mov $0x1230, %%ecx; mov $4, %%edx; mov $5, %%esi; mov $6, "     \
    "%%edi; push %%rbp; mov $7, %%ebp;"                                                            \
    "mov $8, %%r8d; mov $9, %%r9d; mov $10, %%r10d; mov $11, %%r11d; mov $12, %%r12d; mov $13, "   \
    "%%r13d; mov $14, %%r14d; mov $15, %%r15d; mov %%rsp, seen(%%rip);"
#define ALL                                                                                        \
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",       \
        "r15", "memory", "cc"
int main(void) {
    on(SIGSEGV, handler, 0);
    at = load_at, end = load_end;
    for (int i = 0; i < 3; i++)
        asm volatile(LOADED "stc; .globl load_at, load_end\nload_at: mov (%%rcx), %%rax\nload_end: "
                            "pop %%rbp" ::
                                : ALL);
    at = store_at, end = store_end;
    for (int i = 0; i < 3; i++)
        asm volatile(LOADED "cmp $3, %%ebx; .globl store_at, store_end\nstore_at: mov %%rax, "
                            "(%%rcx)\nstore_end: pop %%rbp" ::
                                : ALL);
    at = call_at, end = call_end;
    for (int i = 0; i < 3; i++)
        asm volatile(LOADED "sub %%eax, %%eax; .globl call_at, call_end\ncall_at: call "
                            "*(%%rcx)\ncall_end: pop %%rbp" ::
                                : ALL);
    SAME(count, 9);
    FINISH();
}
