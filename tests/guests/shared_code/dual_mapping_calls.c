// Code run through one mapping of a memfd calls a function that writes, through another, what
// stands behind the call: what is returned to is what was written last.
#include "guest.h"
// push rbx; mov ebx, edx; call rsi; mov eax, 0; add eax, ebx; pop rbx; ret
static const u8 code[] = {0x53, 0x89, 0xd3, 0xff, 0xd6, 0xb8, 0, 0, 0, 0, 0x01, 0xd8, 0x5b, 0xc3};
enum { NUMBER = 6, OPERATION = 10, ADD = 0x01, SUB = 0x29 };
typedef u32 calling(u32 number, void (*callee)(u32), u32 other);
static u8 *w;
static void change(u32 number) {
    memcpy(w + NUMBER, &number, 4);
    if (number % 3 == 0)
        w[OPERATION] = number % 2 ? ADD : SUB;
}
static void leave_alone(u32 number) { KEEP(number); }
int main(void) {
    int fd = memfd_create("code", 0);
    ftruncate(fd, 4096);
    w = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    u8 *x = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    CHECK(w != MAP_FAILED && x != MAP_FAILED);
    memcpy(w, code, sizeof code);
    u32 last = 0, operation = ADD;
    for (u32 n = 1; n < 3000; n++) {
        if (n % 5) {
            last = n;
            operation = n % 3 ? operation : n % 2 ? ADD : SUB;
        }
        u32 got = ((calling *)x)(n, n % 5 ? change : leave_alone, 7);
        SAME(got, operation == ADD ? last + 7 : last - 7);
    }
    FINISH();
}
