// Code that is rewritten all the time stores by one register, in most calls to memory far away,
// in some to instructions that follow: those run as they are then. By operands and by pushes,
// before, over and right behind what is executed.
//@ variants: pie static
#include "guest.h"

// mov [rdi + 4], esi; mov [rdi - 8], esi; mov eax, 0; ret
static const u8 by_operands[] = {0x89, 0x77, 4, 0x89, 0x77, 0xf8, 0xb8, 0, 0, 0, 0, 0xc3};
// push rsi; mov eax, 0; pop rcx; jmp r9
static const u8 by_push[] = {0x56, 0xb8, 0, 0, 0, 0, 0x59, 0x41, 0xff, 0xe1};
#define CONSTANT (sizeof by_operands - 5)
#define PUSHED 2

static u32 constant_of(const u8 *at) {
    u32 value;
    memcpy(&value, at, 4);
    return value;
}

// So many changes that the page is left to the program.
static void wear_out(u8 *code) {
    for (u32 i = 0; i < 200; i++) {
        emit_return(code, i);
        SAME(((function)code)(), i);
    }
}

typedef u32 (*storing)(u8 *base, u32 value);

// Calls it with a base from which one of its stores is to hit the constant; afterwards it is as it
// was.
static void store(u8 *code, u8 *base, u32 value) {
    u8 *constant = code + CONSTANT;
    u32 result = ((storing)code)(base, value);
    SAME(result, constant_of(constant));
    memcpy(code, by_operands, sizeof by_operands);
}

static void operands(u8 *code, u8 *far) {
    u8 *constant = code + CONSTANT;
    memcpy(code, by_operands, sizeof by_operands);
    for (u32 round = 0; round < 50; round++) {
        memcpy(constant, &round, 4);
        SAME(((storing)code)(far, 7), round);
        for (int at = -3; at <= 5; at++) {
            // What meets the opcode before the constant, or the return behind it, leaves that as it
            // is.
            u32 value = at < 0 ? 0xb8b8b8b8 : at ? 0xc3c3c3c3 : 0x1234 + round;
            if (at >= -1 && at < 4) store(code, constant + at - 4, value);
            store(code, constant + at + 8, value);
        }
    }
}

static u32 push(u8 *code, u8 *stack, u64 value) {
    register u64 target asm("r8") = (u64)code;
    register u64 there asm("r10") = (u64)stack;
    u32 result;
    asm volatile("mov %%rsp, %%rbx; lea 1f(%%rip), %%r9; mov %%r10, %%rsp; jmp *%%r8\n"
                 "1: mov %%rbx, %%rsp"
                 : "=a"(result), "+r"(target), "+r"(there), "+S"(value)
                 :
                 : "rbx", "rcx", "r9", "memory", "cc");
    return result;
}

static void pushes(u8 *code, u8 *far) {
    u8 *constant = code + PUSHED;
    for (u32 round = 0; round < 50; round++) {
        memcpy(code, by_push, sizeof by_push);
        *(u32 *)constant = round;
        SAME(push(code, far, 7), round);
        SAME(push(code, constant + 8, 0xe1ff415900000000 | (round + 3)), round + 3);
        SAME(constant_of(constant), round + 3);
        SAME(push(code, constant + 16, 7), round + 3);
    }
}

int main(void) {
    u8 *code = pages(2, 7), *data = pages(2, 3);
    wear_out(code);
    operands(code + 64, data + 64);
    wear_out(code);
    pushes(code + 256, data + 4096);
    FINISH();
}
