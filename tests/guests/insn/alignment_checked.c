// Code that runs with AC set, so that the processor checks the alignment of what it accesses: a
// program that asks whether the flag can be set does so. What is inserted, and the VM, are none of
// its business.
//@ variants: pie static
#include "guest.h"
static u64 words[64] __attribute__((aligned(64)));
static u64 checked(u64 rounds) {
    u64 flags;
    asm volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x40000, (%%rsp); popfq\n"
                 "1: mov %[rounds], %%rcx; and $63, %%ecx\n"
                 "mov (%[words],%%rcx,8), %%rax; lea 1(%%rax), %%rax\n"
                 "mov %%rax, (%[words],%%rcx,8)\n"
                 "call 2f; dec %[rounds]; jnz 1b; jmp 3f\n"
                 "2: push %%rax; xor %%eax, %%eax; cpuid; pop %%rax; ret\n"
                 "3: pushfq; pop %[flags]; pushfq; andq $~0x40000, (%%rsp); popfq\n"
                 "lea 128(%%rsp), %%rsp"
                 : [rounds] "+&r"(rounds), [flags] "=&r"(flags)
                 : [words] "r"(words)
                 : "rax", "rbx", "rcx", "rdx", "cc", "memory");
    return flags;
}
int main(void) {
    for (int i = 0; i < 20; i++) SAME(checked(64) & 0x40000, 0x40000);
    for (int i = 0; i < 64; i++) SAME(words[i], 20);
    FINISH();
}
