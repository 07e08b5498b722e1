// cpuid, xgetbv, rdtsc and rdtscp give what the CPU gives, in the right registers.
//@ variants: pie static
#include "guest.h"
#include <cpuid.h>
int main(void) {
    u32 a, b, c, d;
    for (u32 leaf = 0; leaf < 8; leaf++) {
        __cpuid_count(leaf, 0, a, b, c, d);
        if (leaf == 1) b &= 0x00ffffff, c &= ~(1u << 27);  // APIC id: which CPU we are on
        if (leaf != 4 && leaf != 6) printf("%u %08x %08x %08x %08x\n", leaf, a, b, c, d);
    }
    u64 last = 0;
    for (int i = 0; i < 1000; i++) {
        u32 lo, hi, aux;
        if (i & 1) asm volatile("rdtsc" : "=a"(lo), "=d"(hi));
        else asm volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(aux));
        u64 now = (u64)hi << 32 | lo;
        CHECK(now > last);
        last = now;
    }
    asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    printf("%x %x\n", a, d);
    FINISH();
}
