// Every instruction that stores the x87 instruction and data pointers, and a signal frame,
// shows the program's own addresses, whatever the form of the operand.
//@ variants: pie nopie
//@ needs: xsave xsavec xsaveopt
#include "guest.h"
extern u8 here[], over[];
static _Alignas(64) u8 area[8192];
static double number = 1.5;
static u64 in_frame[2];
static void handler(int s, siginfo_t *i, void *c) {
    u64 *fp = (u64 *)((ucontext_t *)c)->uc_mcontext.fpregs;
    in_frame[0] = fp[1];
    in_frame[1] = fp[2];
}
// An exception is left pending, so that processors which keep the pointers for that case only do.
#define LOAD "fninit; fnstcw -8(%%rsp); andw $~4, -8(%%rsp); fldcw -8(%%rsp); fld1; "
#define LEFT "fninit"
#define STORED(what, text, rip, width, ...)                                                        \
    do {                                                                                           \
        memset(area, 0, sizeof area);                                                              \
        asm volatile(LOAD "fldz; .globl " #what "\n" #what ": fdivrp %%st, %%st(1);" text          \
                          ";" LEFT ::__VA_ARGS__                                                   \
                     : "rax", "rcx", "rdx", "memory", "st");                                       \
        u64 got = 0, want = (u64)what;                                                             \
        memcpy(&got, area + rip, width);                                                           \
        if (width == 4) want = (u32)want;                                                          \
        if (got) SAME(got, want);                                                                  \
        printf(#what " %d\n", got != 0);                                                           \
    } while (0)
extern u8 env[], sav[], fx[], fx64[], xs[], xs64[], xc64[], xo64[], none[], rip_env[], gs_env[];
int main(void) {
    STORED(env, "fnstenv (%0)", 12, 4, "r"(area));
    STORED(sav, "fnsave 8(%0,%1,4)", 12 + 48, 4, "r"(area), "r"(10l));
    STORED(fx, "fxsave (%0)", 8, 4, "r"(area)); STORED(fx64, "fxsave64 (%0)", 8, 8, "r"(area));
    STORED(xs, "mov $-1, %%eax; mov %%eax, %%edx; xsave (%0)", 8, 4, "b"(area));
    STORED(xs64, "mov $7, %%eax; xor %%edx, %%edx; xsave64 (%0)", 8, 8, "b"(area));
    STORED(xc64, "mov $-1, %%eax; mov %%eax, %%edx; xsavec64 (%0)", 8, 8, "b"(area));
    STORED(xo64, "mov $-1, %%eax; mov %%eax, %%edx; xsaveopt64 (%0)", 8, 8, "b"(area));
    STORED(none, "mov $6, %%eax; xor %%edx, %%edx; xsave64 (%0)", 8, 8, "b"(area));
    STORED(rip_env, "fnstenv area(%%rip)", 12, 4, "r"(area));
    on(SIGUSR1, handler, 0); pid_t me = getpid();
    asm volatile(LOAD "fldz\n.globl over\nover: fdivrp %%st, %%st(1); mov $62, %%eax; syscall; "
                      "fninit" ::"D"(me),
                 "S"(SIGUSR1)
                 : "rax", "rcx", "r11", "memory", "st");
    if (in_frame[0]) SAME(in_frame[0], (u64)over); printf("frame %d\n", in_frame[0] != 0);
    asm volatile("fninit\n.globl here\nhere: fldl %1; fnstenv %0; fstp %%st(0)"
                 : "=m"(area)
                 : "m"(number));
    if (*(u32 *)(area + 20)) SAME(*(u32 *)(area + 20), (u32)(u64)&number);
    FINISH();
}
