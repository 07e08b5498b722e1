// A function that changes the code behind the call it was called by: its return runs what is there
// now. In code that was never run, that ran often, and on two levels of calls.
//@ variants: pie static
#include "guest.h"
#include <sys/mman.h>

static unsigned char *code;
static unsigned value;

// The constant of the instruction behind the call.
static void patch(unsigned at) {
    if (value % 3) memcpy(code + at, &value, 4);
}

int main(void) {
    code = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    // outer: sub rsp, 8; call inner; add eax, 1000; add rsp, 8; ret
    // inner: sub rsp, 8; mov edi, 39; mov rax, patch; call rax; mov eax, 0; add rsp, 8; ret
    unsigned char outer[] = {0x48, 0x83, 0xec, 8, 0xe8, 10, 0, 0, 0, 5, 0xe8, 3, 0, 0,
                             0x48, 0x83, 0xc4, 8, 0xc3};
    unsigned char inner[] = {0x48, 0x83, 0xec, 8, 0xbf, 39, 0, 0, 0, 0x48, 0xb8, 0, 0, 0, 0, 0,
                             0, 0, 0, 0xff, 0xd0, 0xb8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3};
    void (*patcher)(unsigned) = patch;
    memcpy(inner + 11, &patcher, 8);
    inner[5] = 19 + 22;
    memcpy(code, outer, sizeof outer);
    memcpy(code + 19, inner, sizeof inner);
    unsigned (*run)(void) = (unsigned (*)(void))code;
    unsigned long sum = 0, last = 0;
    for (value = 0; value < 3000; value++) {
        if (value % 3) last = value;
        SAME(run(), last + 1000);
        sum += last;
    }
    printf("%lu\n", sum);
    FINISH();
}
