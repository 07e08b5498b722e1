// A fault of the kind that is being handled, in its own handler, kills (it is blocked);
// so does a handler whose stack cannot be written, or a bad alternate stack.
#include "guest.h"
#include <sys/resource.h>
static void again(int s, siginfo_t *i, void *c) {
    write(1, "handler\n", 8);
    *(volatile int *)24 = 1;
}
int main(void) {
    struct rlimit none = {0, 0}; setrlimit(RLIMIT_CORE, &none);
    on(SIGSEGV, again, 0);
    pid_t k = fork(); if (!k) *(volatile int *)16 = 1; report_child("nested fault", k);
    k = fork(); if (!k) { asm volatile("mov $64, %rsp; mov %eax, 8"); } report_child("no stack", k);
    k = fork();
    if (!k) {
        stack_t bad = {.ss_sp = pages(4, PROT_NONE), .ss_size = 16384};
        sigaltstack(&bad, 0);
        on(SIGUSR1, again, SA_ONSTACK);
        raise(SIGUSR1);
        _exit(0);
    }
    report_child("bad alternate stack", k);
    FINISH();
}
