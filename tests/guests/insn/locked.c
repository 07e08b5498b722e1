// Locked and exchanging instructions: cmpxchg of all widths, cmpxchg8b and 16b, xadd,
// locked bit tests, xchg with memory.
//@ cflags: -mcx16
#include "guest.h"
int main(void) {
    u64 m[2] __attribute__((aligned(16))) = {10, 20}; u8 ok; u64 a, d;
    a = 10;
    asm volatile("lock cmpxchgq %3, %1; sete %0" : "=q"(ok), "+m"(m[0]), "+a"(a) : "r"(30L) : "cc");
    SAME(ok, 1);
    SAME(m[0], 30);
    a = 10;
    asm volatile("lock cmpxchgl %k3, %1; sete %0"
                 : "=q"(ok), "+m"(m[0]), "+a"(a)
                 : "r"(40L)
                 : "cc");
    SAME(ok, 0);
    SAME(a, 30);
    a = 30, d = 20;
    asm volatile("lock cmpxchg16b %1; sete %0"
                 : "=q"(ok), "+m"(m), "+a"(a), "+d"(d)
                 : "b"(7L), "c"(8L)
                 : "cc");
    SAME(ok, 1);
    SAME(m[1], 8);
    a = 0, d = 0;
    asm volatile("lock cmpxchg8b %1; sete %0"
                 : "=q"(ok), "+m"(m[0]), "+a"(a), "+d"(d)
                 : "b"(9L), "c"(0L)
                 : "cc");
    SAME(ok, 0);
    SAME(a, 7);
    a = 5;
    asm volatile("lock xaddq %0, %1" : "+r"(a), "+m"(m[0])::"cc");
    SAME(a, 7);
    SAME(m[0], 12);
    asm volatile("lock btsq $5, %1; setc %0" : "=q"(ok), "+m"(m[0])::"cc");
    SAME(ok, 0);
    SAME(m[0], 44);
    asm volatile("lock btrq %2, %1; setc %0" : "=q"(ok), "+m"(m) : "r"(67L) : "cc");
    SAME(ok, 1);
    SAME(m[1], 0);
    a = 3;
    asm volatile("xchg %0, %1; lock incq %1; lock negl %1" : "+r"(a), "+m"(m[0])::"cc");
    SAME(a, 44);
    SAME(m[0], (u32)-4);
    for (int i = 0; i < 100000; i++) __sync_fetch_and_add(&m[1], i);
    SAME(m[1], 99999L * 50000);
    FINISH();
}
