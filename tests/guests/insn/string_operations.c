// movs, stos, lods, scas, cmps of every width with and without rep, both directions,
// count zero, overlapping; final registers are checked as well as memory.
//@ variants: pie static
#include "guest.h"
int main(void) {
    u8 a[256], b[256];
    for (int i = 0; i < 256; i++) a[i] = i * 7, b[i] = 0;
    u64 c = 100; u8 *s = a, *d = b;
    asm volatile("rep movsb" : "+c"(c), "+S"(s), "+D"(d)::"memory");
    SAME(c, 0); SAME(s - a, 100); SAME(d - b, 100); SAME(memcmp(a, b, 100), 0);
    c = 10; s = a; d = b + 100;
    asm volatile("rep movsq" : "+c"(c), "+S"(s), "+D"(d)::"memory");
    SAME(memcmp(a, b + 100, 80), 0); SAME(d - b, 180);
    c = 0; asm volatile("rep movsl" : "+c"(c), "+S"(s), "+D"(d)::"memory");
    SAME(d - b, 180);
    c = 20; d = b + 199;
    asm volatile("std; rep stosb; cld" : "+c"(c), "+D"(d) : "a"(0xee) : "memory", "cc");
    SAME(d - b, 179); SAME(b[180], 0xee); SAME(b[199], 0xee); SAME(b[200], 0);
    c = 256; d = b; asm volatile("repne scasb" : "+c"(c), "+D"(d) : "a"(0xee) : "cc");
    SAME(b[d - b - 1], 0xee); printf("%ld %lu\n", d - b, c);
    c = 256; s = a; d = b; u64 flags;
    asm volatile("repe cmpsb; pushfq; pop %3" : "+c"(c), "+S"(s), "+D"(d), "=r"(flags)::"cc");
    printf("%ld %ld %lu %lx\n", s - a, d - b, c, flags & 0x8d5);
    u64 v = 0; s = a + 8; asm volatile("lodsl; lodsw; lodsb" : "+a"(v), "+S"(s));
    SAME(s - a, 15); printf("%lx\n", v);
    c = 100; s = a; d = a + 1; asm volatile("rep movsb" : "+c"(c), "+S"(s), "+D"(d)::"memory");
    for (int i = 0; i < 100; i++) SAME(a[i], a[0]);
    c = 3; d = b; asm volatile("rep stosl" : "+c"(c), "+D"(d) : "a"(0x01020304) : "memory");
    c = 3; asm volatile("rep stosw" : "+c"(c), "+D"(d) : "a"(0xaabb) : "memory");
    u64 h = 0; for (int i = 0; i < 256; i++) h = h * 31 + b[i] + a[i] * 3;
    printf("%016lx\n", h);
    FINISH();
}
