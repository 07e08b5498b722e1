// Instructions that translators forget: xlatb, cwd family, lahf, sahf, salc-free bcd-free
// leftovers, movsxd, cmov with memory, bound-free xadd, prefetch, fences, sxx, lsl, verr.
//@ variants: pie static
#include "guest.h"
int main(void) {
    u8 table[256]; for (int i = 0; i < 256; i++) table[i] = 255 - i;
    u64 a = 0xff05, d = 0, f;
    asm volatile("xlatb" : "+a"(a) : "b"(table)); SAME(a, 0xfffa);
    a = 0x80;
    asm volatile("cbtw; cwtl; cltq; cqto" : "+a"(a), "+d"(d));
    SAME(a, (u64)-128);
    SAME(d, (u64)-1);
    asm volatile("stc; lahf; clc; sahf; setc %b0; movzbl %b0, %k0" : "=&r"(f)::"rax", "cc");
    SAME(f, 1);
    asm volatile("movslq %1, %0" : "=r"(a) : "m"((int){-5})); SAME(a, (u64)-5);
    asm volatile(
        "prefetcht0 (%0); prefetchnta (%0); mfence; lfence; sfence; pause; clflush (%0)" ::"r"(
            table)
        : "memory");
    asm volatile("mov %%cs, %k0; lsl %k0, %k1; setz %b2; mov %%ss, %k0; verr %w0; setz %b0"
                 : "=&r"(a), "=&r"(d), "=&r"(f)::"cc");
    SAME((u8)a, 1);
    SAME((u8)f, 1);
    asm volatile("stc; cmc; setc %b0; std; pushfq; cld; pop %1" : "=r"(a), "=&r"(f)::"cc");
    SAME((u8)a, 0);
    SAME(f & 0x400, 0x400);
    asm volatile("movl $3, %%eax; lock orl $0, (%%rsp); movnti %%eax, %0" : "=m"(a)::"rax", "cc");
    SAME((u32)a, 3);
    asm volatile("mov $0x123456789abcdef0, %0; mov %w0, %w1; mov %h0, %b1" : "=a"(a), "=b"(d));
    SAME((u8)d, 0xde);
    FINISH();
}
