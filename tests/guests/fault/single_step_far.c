// The trap flag over calls, returns, system calls, repeated instructions, faults and other
// traps; set by a handler in the saved context, by iretq and by a 16-bit popf; a pushf shows
// it; handlers run without it.
//@ variants: pie static
//@ cflags: -O1 -mno-red-zone
#include "guest.h"
static u64 at[256], flags_in; static int n, stop; extern u8 code[];
static void trap(int s, siginfo_t *i, void *c) {
    u64 f; asm volatile("pushfq; pop %0" : "=r"(f)); if (f & 0x100) puts("flag in handler");
    if (n < 256) at[n++] = (GREG(c, REG_RIP) - (u64)code) << 8 | (i->si_code & 0x7f);
    if ((u64)i->si_addr != GREG(c, REG_RIP) && i->si_code == TRAP_TRACE) puts("address");
    flags_in |= GREG(c, REG_EFL) & 0x100;
    if (stop && n >= stop) GREG(c, REG_EFL) &= ~0x100ull;
}
static void set(int s, siginfo_t *i, void *c) { GREG(c, REG_EFL) |= 0x100; }
static void fault(int s, siginfo_t *i, void *c) {
    printf("fault at %llx flag %llx\n", GREG(c, REG_RIP) - (u64)code, GREG(c, REG_EFL) & 0x100);
    GREG(c, REG_RIP) += 2;
}
static void show(const char *what) {
    printf("%s:", what);
    for (int i = 0; i < n; i++) {
        long off = (long)at[i] >> 8;
        if (off >= 0 && off < 4096) printf(" %lx/%lx", off, at[i] & 255);
        else printf(" out");
    }
    printf(" (%llx)\n", (unsigned long long)flags_in);
    n = 0;
    flags_in = 0;
}
#define ON "pushfq; orq $0x100, (%%rsp); popfq;"
#define OFF "pushfq; andq $~0x100, (%%rsp); popfq; nop;"
int main(void) {
    on(SIGTRAP, trap, 0);
    on(SIGUSR1, set, 0);
    on(SIGSEGV, fault, 0);
    u64 v, w;
    u8 a[16] = "abcdefgh", b[16];
    asm volatile(".globl code\ncode: nop");
    asm volatile(ON "call 1f; nop; jmp 2f; 1: lea 8(%%rsp), %%rax; ret; 2: mov $39, %%eax; "
                    "syscall; nop; mov $39, %%eax; syscall;" OFF ::
                        : "rax", "rcx", "r11", "memory", "cc");
    show("calls");
    void *s = a, *d = b;
    u64 c = 4;
    asm volatile(ON "rep movsb; nop;" OFF : "+S"(s), "+D"(d), "+c"(c)::"memory", "cc");
    show("repeated");
    asm volatile(ON "pushfq; pop %0; pushfq; pop %1;" OFF : "=r"(v), "=r"(w)::"memory", "cc");
    show("pushf");
    SAME(v & w & 0x100, 0x100);
    asm volatile(ON "int3; nop; .byte 0xcd, 3; nop;" OFF ::: "memory", "cc"); show("breakpoints");
    asm volatile("int3; nop; .byte 0xcd, 3; nop; nop" ::: "memory", "cc"); show("without");
    asm volatile(ON "xor %%eax, %%eax; mov (%%rax), %%al; nop;" OFF ::: "rax", "memory", "cc");
    show("fault");
    asm volatile("pushfw; orw $0x100, (%%rsp); popfw; nop; nop; popcnt %%eax, %%eax; pushfw; andw "
                 "$~0x100, (%%rsp); popfw; nop" ::
                     : "rax", "memory", "cc");
    show("popfw");
    asm volatile("mov %%rsp, %%rax; mov %%ss, %%ecx; push %%rcx; push %%rax; pushfq; orq $0x100, "
                 "(%%rsp); mov %%cs, %%ecx; push %%rcx; lea 1f(%%rip), %%rcx; push %%rcx; iretq; "
                 "nop; 1: nop; nop;" OFF ::
                     : "rax", "rcx", "memory", "cc");
    show("iretq");
    asm volatile(ON "mov %%ss, %%eax; mov %%eax, %%ss; nop; nop; cmp %%eax, %%eax; jnz 1f; je 1f; "
                    "nop; 1: loop 2f; 2: lea 3f(%%rip), %%rax; push %%rax; ret; 3: cpuid; "
                    "rdtsc;" OFF ::
                        : "rax", "rbx", "rcx", "rdx", "memory", "cc");
    show("flow");
    stop = 5;
    asm volatile("mov %0, %%edi; mov $39, %%eax; syscall; mov %%eax, %%edi; mov $186, %%eax; "
                 "syscall; mov %%eax, %%esi; mov $10, %%edx; mov $234, %%eax; syscall; nop; nop; "
                 "inc %%eax; inc %%eax; inc %%eax; nop; nop; nop" ::"i"(0)
                 : "rax", "rcx", "rdx", "rsi", "rdi", "r11", "memory", "cc");
    show("by a handler");
    FINISH();
}
