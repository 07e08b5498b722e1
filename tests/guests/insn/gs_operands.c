// Memory operands in the gs segment in every form of address, with registers of all kinds
// busy: loads, stores, pushes, pops, string operations, locked and wide ones, calls, jumps,
// and faults with all registers as they were.
//@ needs: fsgsbase cx16
//@ variants: pie nopie static
//@ cflags: -O1 -mcx16 -mno-red-zone
#include "guest.h"
#include <setjmp.h>
static _Alignas(64) u64 block[64]; static sigjmp_buf back;
static void gs(const void *p) { asm volatile("wrgsbase %0" ::"r"(p)); }
static void fill(void) { for (int i = 0; i < 64; i++) block[i] = 0x0101010101010101ull * i; }
#define LOAD(operand, offset, ...)                                                                 \
    do {                                                                                           \
        u64 v = 0;                                                                                 \
        asm volatile("mov " operand ", %0" : "=&r"(v) : __VA_ARGS__ : "memory");                   \
        SAME(v, *(u64 *)((char *)block + (offset)));                                               \
        u32 w;                                                                                     \
        asm volatile("incl " operand "; movzbl " operand ", %0"                                    \
                     : "=&r"(w)                                                                    \
                     : __VA_ARGS__                                                                 \
                     : "memory", "cc");                                                            \
        SAME(w, *((u8 *)block + (offset)));                                                        \
    } while (0)
static void addresses(void) {
    u64 b = 16, i = 8; register u64 r12 asm("r12") = 40; register u64 r13 asm("r13") = 48;
    LOAD("%%gs:0x18", 24, "r"(b));
    LOAD("%%gs:(%1)", 16, "r"(b));
    LOAD("%%gs:8(%1)", 24, "r"(b));
    LOAD("%%gs:0x100(%1)", 272, "r"(b));
    LOAD("%%gs:(%1,%2)", 24, "r"(b), "r"(i));
    LOAD("%%gs:8(%1,%2,4)", 56, "r"(b), "r"(i));
    LOAD("%%gs:-16(,%2,8)", 48, "r"(b), "r"(i));
    LOAD("%%gs:(%1)", 40, "r"(r12));
    LOAD("%%gs:(%1)", 48, "r"(r13));
    LOAD("%%gs:(%1,%2)", 48, "r"(r12), "r"(i));
    LOAD("%%gs:-8(%1,%1,2)", 40, "a"(b));
    LOAD("%%gs:-8(%1,%1,2)", 40, "c"(b));
    u64 minus = -8; LOAD("%%gs:24(%1)", 16, "r"(minus));
    gs((void *)((u64)block - b));
    LOAD("%%gs:(%k1)", 0, "r"(b));
    LOAD("%%gs:8(%k1,%k2)", 16, "r"(b), "r"(i));
    gs(block);
}
extern u64 at_rip[];
static void odd_addresses(void) {
    u64 v, w = 77;
    asm volatile("movabs %%gs:0x20, %0" : "=a"(v)); SAME(v, block[4]);
    asm volatile("movabs %0, %%gs:0x28" ::"a"(w)); SAME(block[5], 77);
    asm volatile("lea at_rip(%%rip), %0; neg %0; wrgsbase %0; mov $0, %0" : "=&r"(v)::"cc");
    gs((void *)((char *)block - (char *)at_rip));
    asm volatile("mov %%gs:at_rip(%%rip), %0" : "=r"(v));
    SAME(v, block[0]);
    asm volatile("addq $5, %%gs:at_rip(%%rip)" ::: "memory", "cc");
    SAME(block[0], v + 5);
    gs(block);
}
asm(".data\n.balign 8\nat_rip: .quad 0\n.text\n");
static void stack_forms(void) {
    u64 v, sp; asm volatile("mov %%rsp, %0" : "=r"(sp)); (void)sp;
    asm volatile("pushq %%gs:0x10; pop %0" : "=r"(v)); SAME(v, block[2]);
    asm volatile("push %1; popq %%gs:0x30" : "=m"(block) : "r"(0x1234ul)); SAME(block[6], 0x1234);
    asm volatile("sub $128, %%rsp; mov %%rsp, %%rcx; rdgsbase %%rdx; sub %%rcx, %%rdx; neg %%rdx; "
                 "xor %%ecx, %%ecx; wrgsbase %%rcx;"
                 "mov $0x55, %%ecx; mov %%rcx, 8(%%rsp); mov %%gs:8(%%rsp), %0; pushq "
                 "%%gs:8(%%rsp); pop %%rcx; add %%rcx, %0;"
                 "pushq $0x66; popq %%gs:8(%%rsp); mov 8(%%rsp), %%rcx; add %%rcx, %0; add $128, "
                 "%%rsp"
                 : "=&r"(v)::"rcx", "rdx", "memory", "cc");
    SAME(v, 0x55 + 0x55 + 0x66); gs(block);
}
static void strings(void) {
    u8 out[64]; u64 v; const void *s; void *d = out; u64 n; fill();
    asm volatile("lodsq %%gs:(%%rsi), %%rax" : "=a"(v), "=S"(s) : "S"(8));
    SAME(v, block[1]);
    SAME(s, 16);
    asm volatile("movsb %%gs:(%%rsi), (%%rdi)" : "=S"(s), "+D"(d) : "S"(24) : "memory");
    SAME(out[0], (u8)block[3]);
    SAME(s, 25);
    SAME(d, out + 1);
    d = out;
    asm volatile("rep movsb %%gs:(%%rsi), (%%rdi)"
                 : "=S"(s), "+D"(d), "=c"(n)
                 : "S"(16), "c"(40)
                 : "memory");
    SAME(memcmp(out, &block[2], 40), 0);
    SAME(s, 56);
    SAME(n, 0);
    d = out;
    asm volatile("repe cmpsb (%%rdi), %%gs:(%%rsi)"
                 : "=S"(s), "+D"(d), "=c"(n)
                 : "S"(16), "c"(41)
                 : "memory", "cc");
    SAME(n, 0);
    u8 c;
    asm volatile("xlatb %%gs:(%%rbx)" : "=a"(c) : "a"(9), "b"(16));
    SAME(c, ((u8 *)block)[25]);
}
static u64 called(void) { return 99; }
static void wide(void) {
    fill(); u64 v; u8 image[512] __attribute__((aligned(64)));
    asm volatile("lock addq $3, %%gs:8; mov $1, %%eax; lock xadd %%rax, %%gs:8; mov %%rax, %0"
                 : "=r"(v)::"rax", "memory", "cc");
    SAME(v, 0x0101010101010101ull + 3);
    u8 ok; u64 lo = block[2], hi = block[3];
    asm volatile("lock cmpxchg16b %%gs:(%%rsi); setz %0"
                 : "=q"(ok), "+a"(lo), "+d"(hi)
                 : "b"(5ul), "c"(6ul), "S"(16ul)
                 : "memory", "cc");
    SAME(ok, 1);
    SAME(block[2], 5);
    SAME(block[3], 6);
    asm volatile("movdqu %%gs:(%1), %%xmm3; pxor %%xmm4, %%xmm4; paddq %%gs:16, %%xmm4; movdqu "
                 "%%xmm3, %0"
                 : "=m"(image)
                 : "r"(24ul)
                 : "xmm3", "xmm4");
    SAME(memcmp(image, &block[3], 16), 0);
    asm volatile("movb %%gs:9, %%ah; movzbl %%ah, %%eax; mov %%rax, %0" : "=r"(v)::"rax");
    SAME((u8)v, ((u8 *)block)[9]);
    asm volatile("fldl %%gs:16; fstpl %%gs:24; fnstcw %%gs:40; fxsave64 %%gs:0" ::: "memory", "st");
    SAME(((u32 *)block)[6] & 0x1f80, 0x1f80);
    fill(); block[7] = (u64)called;
    asm volatile("call *%%gs:56"
                 : "=a"(v)::"rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
    SAME(v, 99);
    asm volatile("lea 1f(%%rip), %%rax; mov %%rax, %%gs:56; xor %%eax, %%eax; jmp *%%gs:56; 2: inc "
                 "%%eax; 1: mov %%rax, %0"
                 : "=r"(v)::"rax", "memory", "cc");
    SAME(v, 0);
    asm volatile("crc32b %%gs:1, %%ecx; bswap %%ecx; shldq $3, %%rcx, %%gs:80; imul $7, %%gs:4, "
                 "%%edx; cmovz %%gs:8, %%rbx; setc %%gs:90; and $0xff, %%ecx; bts %%rcx, %%gs:80" ::
                     : "rbx", "rcx", "rdx", "cc", "memory");
    u64 sum = 0;
    for (int i = 0; i < 11; i++) sum = sum * 31 + (i == 7 ? 0 : block[i]);
    printf("%lx\n", sum);
}
static u64 registers[4];
static void handler(int s, siginfo_t *i, void *c) {
    printf("%d %d addr %llx err %llx:", s, i->si_code, (u64)i->si_addr, GREG(c, REG_ERR));
    printf(" %llx %llx %llx %llx %llx\n", GREG(c, REG_RAX), GREG(c, REG_RCX), GREG(c, REG_RDX),
           GREG(c, REG_RBX), GREG(c, REG_RSI));
    siglongjmp(back, 1);
}
#define FAULT(text)                                                                                \
    do {                                                                                           \
        if (!sigsetjmp(back, 1)) {                                                                 \
            asm volatile("mov $1, %%eax; mov $2, %%ecx; mov $3, %%edx; mov $4, %%ebx; mov $5, "    \
                         "%%esi; " text ::                                                         \
                             : "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "memory", "cc");          \
            puts("passed");                                                                        \
        }                                                                                          \
    } while (0)
static void faults(void) {
    on(SIGSEGV, handler, 0); gs((void *)0x1000);
    FAULT("mov %%gs:(%%rcx,%%rdx,4), %%rax");
    FAULT("add %%rbx, %%gs:0x10");
    FAULT("xadd %%rcx, %%gs:8(%%rsi)");
    FAULT("lodsb %%gs:(%%rsi), %%al");
    FAULT("mov %%gs:4(%%ecx), %%al");
    FAULT("call *%%gs:8"); FAULT("movabs %%gs:0x123456789a, %%al"); FAULT("pushq %%gs:(%%rbx)");
    FAULT("mov $0x8000000000000000, %%rsi; mov %%gs:(%%rsi), %%rax");
    FAULT("mov $0x8000000000000000, %%rcx; wrgsbase %%rcx");
    FAULT("mov $0x8000000000000000, %%rsi; wrgsbase %%rsi");
    FAULT("mov $0x1233, %%ecx; mov %%ecx, %%gs");
    FAULT("xor %%ecx, %%ecx; wrgsbase %%rcx; mov %%gs:0, %%rbx");
    (void)registers;
}
int main(void) {
    fill();
    gs(block);
    addresses();
    fill();
    odd_addresses();
    stack_forms();
    strings();
    wide();
    faults();
    FINISH();
}
