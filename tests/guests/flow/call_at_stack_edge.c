// A call whose return address takes the last word of the stack: below it there is no memory, or
// memory that cannot be written to. The callee uses no stack, so the call works natively and nobody
// sees a fault.
//@ variants: pie static
#include "guest.h"
extern u64 on_stack(u64 *top, u64 times);
asm(".text\n"
    "on_stack: push %rbx; mov %rsp, %rbx; mov %rdi, %rsp; xor %eax, %eax\n"
    "1: stc; call 2f; lea 2f(%rip), %rdx; call *%rdx; call 3f; dec %rsi; jnz 1b\n"
    "mov %rbx, %rsp; pop %rbx; ret\n"
    "2: adc $0, %rax; mov (%rsp), %rcx; cmpb $0x0f, (%rcx); ret\n"
    "3: add $16, %rax; ret\n");
static u64 *deep;
static int faults;
static void on_fault(int signal, siginfo_t *info, void *context) {
    faults++;
    SAME(info->si_addr, deep - 1);
    SAME(GREG(context, REG_RSP), deep);
    GREG(context, REG_RSP) = (u64)(deep + 512);
    (void)signal;
}
extern u64 too_deep(u64 *top);
asm("too_deep: push %rbx; mov %rsp, %rbx; mov %rdi, %rsp; mov $5, %eax; call 4f\n"
    "mov %rbx, %rsp; pop %rbx; ret\n"
    "4: push %rax; mov %rbx, %rsp; pop %rbx; ret\n"); // the push faults, and is repeated higher up
int main(void) {
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    u64 *edge = (u64 *)(pages + 4096);
    CHECK(mprotect(pages, 4096, PROT_NONE) == 0);
    SAME(on_stack(edge + 1, 1), 17);
    SAME(on_stack(edge + 1, 2000), 2000 * 17);
    SAME(on_stack(edge + 2, 2000), 2000 * 17);
    CHECK(mprotect(pages, 4096, PROT_READ) == 0);
    SAME(on_stack(edge + 1, 2000), 2000 * 17);
    CHECK(munmap(pages, 4096) == 0);
    SAME(on_stack(edge + 1, 2000), 2000 * 17);
    static char other[1 << 16] __attribute__((aligned(16)));
    stack_t alternate = {.ss_sp = other, .ss_size = sizeof other};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    CHECK(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    deep = edge;
    for (int i = 0; i < 3; i++) SAME(too_deep(edge + 1), 5);
    SAME(faults, 3);
    FINISH();
}
