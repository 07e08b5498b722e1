// Returns that are not returns: push address and ret, a changed return address, call
// and pop to read the own address, two frames left at once, a return to the caller's
// caller. A hardware-paired return prediction must only mispredict here.
//@ variants: pie static
#include "guest.h"
extern u64 push_ret(u64), changed(u64), own_address(void), skip_frame(u64), dropped(u64);
asm(".text\n"
    "push_ret: lea 1f(%rip), %rax; push %rax; inc %rdi; ret\n ud2\n 1: lea 100(%rdi), %rax; ret\n"
    "changed: call 2f\n mov $0, %eax; ret\n 3: lea 7(%rdi), %rax; ret\n 2: lea 3b(%rip), %rax; mov "
    "%rax, (%rsp); ret\n"
    "own_address: call 4f\n 4: pop %rax; lea 4b(%rip), %rcx; sub %rcx, %rax; ret\n"
    "skip_frame: call 5f; mov $0, %eax; ret\n 5: call 6f; mov $1, %eax; ret\n 6: add $16, %rsp; "
    "lea 3(%rdi), %rax; ret\n"
    "dropped: call 7f\n 7: call 8f\n 8: call 9f\n 9: add $24, %rsp; mov %rdi, %rax; ret\n");
int main(void) {
    for (u64 i = 0; i < 2000; i++) {
        SAME(push_ret(i), i + 101);
        SAME(changed(i), i + 7);
        SAME(own_address(), 0);
        SAME(skip_frame(i), i + 3);
        SAME(dropped(i), i);
    }
    FINISH();
}
