// Memory below the stack pointer is the program's: the red zone, and what lies deeper,
// stays as written over branches, indirect jumps and inserted code. Only the word at a
// call's return address and the one below it may change at a call.
//@ variants: pie static
#include "guest.h"
extern u64 below(u64 rounds, void *out);
asm(".text\n"
    "below: mov $64, %ecx\n"
    "1: mov %rcx, %rax; not %rax; neg %rcx; mov %rax, (%rsp,%rcx,8); neg %rcx; dec %ecx; jnz 1b\n"
    "lea 3f(%rip), %r8; mov %rdi, %rdx\n"
    "2: test $1, %edx; jz 4f; inc %r9; 4: test $2, %edx; jnz 5f; nop; 5: jmp *%r8\n"
    "3: dec %rdx; jnz 2b\n"
    "mov $64, %ecx; xor %eax, %eax\n"
    "6: neg %rcx; mov (%rsp,%rcx,8), %rdx; neg %rcx; not %rdx; cmp %rdx, %rcx; je 7f; inc %eax; 7: "
    "dec %ecx; jnz 6b\n"
    "ret\n");
extern u64 under_call(void);
asm("under_call: mov $64, %ecx\n"
    "1: mov %rcx, %rax; not %rax; neg %rcx; mov %rax, (%rsp,%rcx,8); neg %rcx; dec %ecx; jnz 1b\n"
    "lea 8f(%rip), %r8; call 8f; call *%r8; call 8f\n"
    "mov $64, %ecx; xor %eax, %eax\n"
    "6: neg %rcx; mov (%rsp,%rcx,8), %rdx; neg %rcx; not %rdx; cmp %rdx, %rcx; je 7f; inc %eax; 7: "
    "dec %ecx; cmp $2, %ecx; ja 6b\n"
    "ret\n8: ret\n");
int main(void) {
    char room[4096];
    memset(room, 1, sizeof room);
    KEEP(*(long *)room);
    SAME(below(10000, room), 0);
    for (int i = 0; i < 100; i++) SAME(under_call(), 0);
    FINISH();
}
