// Dense switches and a threaded interpreter with computed goto: indirect jumps with
// many targets, relative tables in PIE and absolute ones otherwise.
//@ variants: pie nopie static
//@ cflags: -O2
#include "guest.h"
static __attribute__((noinline)) int pick(int x) {
    switch (x) {
    case 0:
        return 17;
    case 1:
        return 3;
    case 2:
        return 99;
    case 3:
        return -4;
    case 4:
        return 5;
    case 5:
        return 61;
    case 6:
        return 8;
    case 7:
        return 1000;
    case 8:
        puts("eight");
        return 2;
    case 9:
        return x * 3;
    default:
        return -1;
    }
}
static long interpret(const u8 *code) {
    static void *const ops[] = {&&push, &&add, &&mul, &&dup, &&dec, &&jnz, &&halt};
    long stack[16], *sp = stack;
    const u8 *pc = code;
#define NEXT goto *ops[*pc++]
    NEXT;
push: *sp++ = *pc++; NEXT;
add: sp--; sp[-1] += sp[0]; NEXT;
mul: sp--; sp[-1] = sp[-1] * sp[0] % 1000003; NEXT;
dup: sp[0] = sp[-1]; sp++; NEXT;
dec: stack[0]--; NEXT;
jnz: { int to = *pc++; if (stack[0]) pc = code + to; NEXT; }
halt: return sp[-1];
}
int main(void) {
    long sum = 0;
    for (int i = 0; i < 100000; i++) sum += pick(i * 7 % 11 == 8 ? 10 : i * 7 % 11);
    pick(8);
    static const u8 program[] = {0, 200, 0, 1, 0, 3, 2, 0, 7, 1, 4, 5, 4, 6};
    printf("%ld %ld\n", sum, interpret(program));
    FINISH();
}
