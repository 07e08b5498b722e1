// Code that is new in each round: more than a small cache has room for.
#ifndef NEW_CODE_H
#define NEW_CODE_H
#include "guest.h"
enum { CHUNKS = 4000, CHUNK = 16 };
// mov eax, VALUE; ret
static void write_chunk(u8 *at, u32 value) {
    *at = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
}
static u8 *room_for_chunks(void) {
    return pages(CHUNKS * CHUNK / 4096 + 1, PROT_READ | PROT_WRITE);
}
// How many of the functions return another value than that of their round.
static long run_all(u8 *code, u32 round) {
    long wrong = 0;
    mprotect(code, CHUNKS * CHUNK, PROT_READ | PROT_WRITE);
    for (u32 n = 0; n < CHUNKS; n++) write_chunk(code + n * CHUNK, n + round);
    mprotect(code, CHUNKS * CHUNK, PROT_READ | PROT_EXEC);
    for (u32 n = 0; n < CHUNKS; n++)
        wrong += ((unsigned (*)(void))(code + n * CHUNK))() != n + round;
    return wrong;
}
#endif
