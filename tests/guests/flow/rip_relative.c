// Every kind of rip-relative operand: load, store, read-modify-write, with 8- and 32-bit
// immediates, lea, push, pop, call, jmp, SSE, cmpxchg, x87, and through %eip.
//@ variants: pie nopie static static-pie
#include "guest.h"
extern u64 data[8];
asm(".data\n.balign 16\ndata: .quad 0x1122334455667788, 2, 3, 4, 5, 6, 7, 8\n"
    "target: .quad routine\n.text\nroutine: mov $0x5a, %eax; ret\n");
int main(void) {
    u64 v, w;
    asm volatile("mov data(%%rip), %0" : "=r"(v));
    SAME(v, 0x1122334455667788);
    asm volatile("movzbl 3+data(%%rip), %k0" : "=r"(v));
    SAME(v, 0x55);
    asm volatile("movl $0x12345678, 8+data(%%rip); addb $0x7f, 16+data(%%rip); orw $0x4321, "
                 "24+data(%%rip)" ::
                     : "memory", "cc");
    SAME(data[1], 0x12345678);
    SAME(data[2], 0x82);
    SAME(data[3], 0x4325);
    asm volatile("lea data(%%rip), %0; lea data(%%eip), %1" : "=r"(v), "=r"(w));
    SAME(v, data);
    SAME(w, (u32)(u64)data);
    asm volatile("push 32+data(%%rip); pop 40+data(%%rip)" ::: "memory");
    SAME(data[5], 5);
    asm volatile("call *target(%%rip)" : "=a"(v)::"rcx", "rdx", "memory");
    SAME(v, 0x5a);
    asm volatile("lea 1f(%%rip), %%rcx; mov %%rcx, 48+data(%%rip); jmp *48+data(%%rip); ud2; 1: "
                 "mov $1, %0"
                 : "=r"(v)::"rcx", "memory");
    SAME(v, 1);
    asm volatile("movdqa data(%%rip), %%xmm0; paddq data(%%rip), %%xmm0; movq %%xmm0, %0"
                 : "=r"(v)::"xmm0");
    SAME(v, 0x1122334455667788 * 2);
    asm volatile("mov $8, %%eax; mov $99, %%ecx; lock cmpxchg %%rcx, 56+data(%%rip); sete %b0"
                 : "=r"(v)::"rax", "rcx", "memory", "cc");
    SAME((u8)v, 1);
    asm volatile("fildl 56+data(%%rip); fistpl 16+data(%%rip); imul $1000, 56+data(%%rip), %k0; "
                 "cmpb $3, 56+data(%%rip)"
                 : "=r"(v)::"memory", "cc");
    SAME((u32)data[2], 99);
    SAME(v, 99000);
    asm volatile("shll $3, 56+data(%%rip); bt $3, 56+data(%%rip); setc %b0"
                 : "=r"(v)::"memory", "cc");
    SAME(data[7], 99 * 8);
    SAME((u8)v, 1);
    FINISH();
}
