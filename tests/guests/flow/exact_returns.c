// What calls and returns leave on the stack, to the last word: below the return address there is
// what was there, or 0; and it stays where it was when it has been used. Stacks of one word, stacks
// that cannot be written to, tables of return addresses that are run through twice, two stacks that
// agree in their low bits, calls from each place in 64 KiB of stack, and flags that a function
// returns in.
//@ variants: pie static
#include "guest.h"
#include <sys/mman.h>

extern u64 below(void), behind(void), lowest(u64 *top), on_table(u64 *table), flags(u64 carry);
extern u64 flags_elsewhere(u64 carry), turn(u64 *other, u64 value), from_place(u64 bytes);
extern char table_1[], table_2[], table_end[];
asm(".text\n"
    // The word below a callee's return address.
    "below: movq $77, -16(%rsp); call 1f; ret\n"
    "1: mov -8(%rsp), %rax; ret\n"
    // Behind a return its address is still there.
    "behind: call 2f\n 3: lea 3b(%rip), %rax; sub -8(%rsp), %rax; ret\n 2: ret\n"
    // A stack with room for one word.
    "lowest: mov %rsp, %r8; mov %rdi, %rsp; call 4f; mov %r8, %rsp; ret\n"
    "4: ret\n"
    // Returns whose addresses nobody has pushed.
    "on_table: mov %rsp, %r8; mov %rdi, %rsp; xor %eax, %eax; ret\n"
    "table_1: inc %rax; ret\n"
    "table_2: shl $4, %rax; ret\n"
    "table_end: mov %r8, %rsp; ret\n"
    // A call from a place some bytes further down.
    "from_place: mov %rsp, %r8; sub %rdi, %rsp; call 5f; mov %r8, %rsp; ret\n"
    "5: lea 1(%rdi), %rax; ret\n"
    // A function that returns the carry flag.
    "flags: call 6f; setc %al; movzx %al, %eax; ret\n"
    "6: bt $0, %rdi; ret\n"
    "flags_elsewhere: call 7f; ud2\n 8: setc %al; movzx %al, %eax; ret\n"
    "7: lea 8b(%rip), %rax; mov %rax, (%rsp); bt $0, %rdi; ret\n"
    // Goes on with another stack, whose top it exchanges with this one's.
    "turn: push %rbx; push %rbp; xchg %rsp, (%rdi); pop %rbp; pop %rbx; mov %rsi, %rax; ret\n");

static u64 other;
static void second(void) {
    for (u64 sum = 0;; sum++) sum += turn(&other, sum);
}

int main(void) {
    u64 size = 1 << 16;
    char *map = mmap(0, 4 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *low = mmap(0, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(low, 4096, PROT_NONE);
    u64 table[] = {(u64)table_1, (u64)table_2, (u64)table_1, (u64)table_end};
    u64 *frozen = (u64 *)(low + 8192);
    memcpy(frozen, table, sizeof table);
    mprotect(frozen, 4096, PROT_READ);
    // A stack that agrees with this one in its low 16 bits.
    u64 *top = (u64 *)((u64)map + size + ((u64)&size & (size - 1) & ~15ul));
    *--top = 0, *--top = (u64)second, *--top = 0, *--top = 0;
    other = (u64)top;
    for (u64 bytes = 0; bytes < size + 256; bytes += 8) SAME(from_place(bytes), bytes + 1);
    u64 sum = 0;
    for (u64 i = 0; i < 3000; i++) {
        u64 left = below();
        CHECK(left == 77 || left == 0);
        SAME(behind(), 0);
        lowest((u64 *)(low + 4096 + 8));
        SAME(on_table(table), 17);
        SAME(on_table(frozen), 17);
        SAME(table[0] == (u64)table_1 && table[3] == (u64)table_end, 1);
        SAME(flags(i), i & 1);
        SAME(flags_elsewhere(i), i & 1);
        sum += turn(&other, i);
    }
    printf("%llu\n", (unsigned long long)sum);
    FINISH();
}
