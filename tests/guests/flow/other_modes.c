// 32-bit code in a 64-bit program, by a far call: its own instructions, system calls, faults
// and signals in it with frames that say so, handlers that return to it or go there.
//@ variants: nopie static
#include "guest.h"

// Calls f in the 32-bit code segment, on a stack below 4 GB.
extern u64 narrow(void *f, u64 eax, u64 ecx);
asm(".text\n"
    "narrow: push %rbx; push %rbp; push %r12; mov %rsp, %r12; mov $stack + 65520, %esp\n"
    " mov $0x2b, %eax; mov %eax, %ds; mov %eax, %es; mov %rsi, %rax; mov %rdx, %rcx; sub $16, "
    "%rsp; mov %edi, (%rsp); movl $0x23, 4(%rsp)\n"
    " lcall *(%rsp)\n mov %r12, %rsp; pop %r12; pop %rbp; pop %rbx; ret\n"
    ".code32\n"
    "decimal: daa; inc %eax; pushl %eax; popl %edx; bound %ecx, limits; lret\n"
    "flags: pushf; popl %eax; lret\n"
    "pid: push %ebx; mov $20, %eax; int $0x80; pop %ebx; lret\n"
    "wait_for: mov %ecx, %edx\n 1: inc %eax; cmpl $0, (%edx); je 1b\n lret\n"
    "bad: ud2\n mov $77, %eax; lret\n"
    "load: mov (%eax), %eax; lret\n"
    "store: movb $9, (%eax); mov %ecx, %eax; lret\n"
    "landing: ljmp $0x33, $back\n"
    ".code64\n"
    "back: mov kept(%rip), %rsp; movabs $0x1122334455667788, %rax; ret\n"
    ".data\n limits: .long -100, 100\n .bss\n .balign 16\n stack: .skip 65536\n .text\n");
extern u8 decimal[], flags[], pid[], wait_for[], bad[], load[], store[], landing[];

static volatile int hits;
static u64 segment;
static void note(int signal, siginfo_t *info, void *context) {
    segment = GREG(context, REG_CSGSFS) & 0xffff;
    hits = segment == 0x23;
}
static void skip(int signal, siginfo_t *info, void *context) {
    note(signal, info, context);
    printf("signal %d at %s\n", signal,
           GREG(context, REG_RIP) == (u64)bad    ? "bad"
           : GREG(context, REG_RIP) == (u64)load ? "load"
                                                 : "?");
    GREG(context, REG_RIP) += 2;
    if (signal == SIGSEGV) GREG(context, REG_RAX) = info->si_addr == (void *)16 ? 5 : 0;
}
u64 kept;
extern u8 stack[];
static void go_there(int signal, siginfo_t *info, void *context) {
    // As if the two bytes had been a call of it.
    GREG(context, REG_RSP) -= 8;
    *(u64 *)GREG(context, REG_RSP) = GREG(context, REG_RIP) + 2;
    // It keeps 32 bits of the stack pointer.
    kept = GREG(context, REG_RSP);
    GREG(context, REG_RSP) = (u64)stack + 65520;
    GREG(context, REG_RIP) = (u64)landing;
    GREG(context, REG_CSGSFS) = GREG(context, REG_CSGSFS) & ~0xfffful | 0x23;
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        SAME(narrow(decimal, 0x1b, 5), 0x22);
        SAME(narrow(pid, 0, 0), getpid());
        SAME(narrow(flags, 0, 0) & 0x100, 0);
    }
    on(SIGALRM, note, 0), on(SIGILL, skip, 0), on(SIGSEGV, skip, 0);
    // Again and again, until one comes in the loop.
    ualarm(20000, 20000);
    CHECK(narrow(wait_for, 0, (u64)&hits) > 0);
    ualarm(0, 0);
    SAME(segment, 0x23);
    segment = 0;
    SAME(narrow(bad, 0, 0), 77);
    SAME(segment, 0x23);
    SAME(narrow(load, 16, 0), 5);

    // It rewrites translated code.
    u8 *code = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    emit_return(code, 1); SAME(((function)code)(), 1);
    SAME(narrow(store, (u64)code + 1, 3), 3);
    SAME(((function)code)(), 9);

    // A handler turns to it, and it leads back behind the fault.
    on(SIGILL, go_there, 0);
    u64 result = 0;
    asm volatile("sub $128, %%rsp; ud2; add $128, %%rsp" : "=a"(result) : : "memory", "cc");
    SAME(result, 0x1122334455667788);
    FINISH();
}
