// Flags live over direct and indirect calls, jumps and returns, push and pop, lahf and
// sahf; the direction flag over a call; pushfq shows exactly what popfq took.
//@ variants: pie static
#include "guest.h"
extern u64 carried(u64 flags, int way);
asm(".text\n"
    "carried: push %rbx; lea table(%rip), %rax; movslq (%rax,%rsi,4), %rcx; add %rax, %rcx\n"
    "lea 9f(%rip), %rdx; lea 8f(%rip), %rbx; push %rdi; popfq; jmp *%rcx\n"
    "way0: jmp 9f\n"
    "way1: call 8f; jmp 9f\n"
    "way2: call *%rbx; jmp *%rdx\n"
    "way3: push %rdx; ret\n"
    "way4: jrcxz 9f; lea 5(%rcx), %rcx; mov %rcx, %r8; bswap %r8; not %r8; jmp 9f\n"
    "way5: push %rdx; push %rbx; ret\n"
    "8: mov $1, %eax; lea (%rax,%rax), %eax; ret\n"
    "9: pushfq; pop %rax; cld; pop %rbx; ret\n"
    ".section .rodata\n.balign 4\ntable: .long way0-table, way1-table, way2-table, way3-table, "
    "way4-table, way5-table\n.text\n");
int main(void) {
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 128; i++) {
            u64 flags = 0x202 | (i & 1) | (i & 2) << 1 | (i & 4) << 2 | (i & 8) << 3 |
                        (i & 16) << 3 | (i & 32) << 6 | (i & 64) << 4;
            for (int way = 0; way < 6; way++) SAME(carried(flags, way), flags);
            u64 with_id = flags | 1 << 21, got;
            asm volatile("push %1; popfq; pushfq; pop %0; cld" : "=r"(got) : "r"(with_id) : "cc");
            SAME(got, with_id);
        }
    FINISH();
}
