// Restartable sequences as librseq writes them, on the area that glibc has registered or,
// without glibc, on one of our own.
#ifndef SEQUENCES_H
#define SEQUENCES_H
#include "guest.h"

struct area {
    u32 cpu_id_start, cpu_id;
    volatile u64 cs;
    u32 flags;
    u32 more[11];
} __attribute__((aligned(32)));
struct descriptor { u32 version, flags; u64 start, length, abort; } __attribute__((aligned(32)));
#define SIGNATURE 0x53053053

#ifdef __GLIBC__
#include <sys/rseq.h>
static inline struct area *area(void) {
    return (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
}
#else
static _Thread_local struct area own_area;
static inline struct area *area(void) {
    if (!own_area.flags && !own_area.cpu_id_start && !own_area.more[10]) {
        own_area.more[10] = 1;
        syscall(SYS_rseq, &own_area, 32, 0, SIGNATURE);
    }
    return &own_area;
}
#endif

// A descriptor at 3: for 1: to 2:, aborted at 4:, announced; rax is used.
#define SEQUENCE_SIGNED(signature) SEQUENCE_WITH(signature, "")
// What was in rcx and rdx when it was aborted goes to kept. (Outputs of an asm goto are
// not to be relied on where it branches.)
#define SEQUENCE_KEEPING                                                                           \
    SEQUENCE_WITH(0x53053053, "movq %%rcx, (%[kept])\n movq %%rdx, 8(%[kept])\n")
#define SEQUENCE_WITH(signature, when_aborted)                                 \
    ".pushsection __rseq_cs, \"aw\"\n .balign 32\n"                            \
    "3: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n .popsection\n"                    \
    ".pushsection __rseq_failure, \"ax\"\n .byte 0x0f, 0xb9, 0x3d\n"           \
    ".long " #signature "\n 4: " when_aborted "jmp %l[aborted]\n .popsection\n"                \
    "leaq 3b(%%rip), %%rax\n movq %%rax, 8(%[area])\n 1:\n"
#define SEQUENCE SEQUENCE_SIGNED(0x53053053)
// Ends it.
#define COMMITTED "2:\n"

// Adds to the counter of the CPU at hand, unless that is another by now.
static inline int add(struct area *a, long *counter, long amount, u32 cpu) {
    asm volatile goto(SEQUENCE
        "cmpl %[cpu], 4(%[area])\n jnz %l[other]\n addq %[amount], %[counter]\n" COMMITTED
        : : [area] "r"(a), [cpu] "r"(cpu), [counter] "m"(*counter), [amount] "er"(amount)
        : "memory", "cc", "rax" : aborted, other);
    return 0;
aborted:
    return -1;
other:
    return 1;
}

// A long sequence: only its last instruction counts, so an abort anywhere loses nothing.
// In it rdx is 2 * rcx, but for the moment between the two; an abort handler sees both as
// they were (in kept).
static inline int slow_add(struct area *a, long *counter, u32 cpu, long rounds, long *kept) {
    asm volatile goto("xorl %%ecx, %%ecx\n xorl %%edx, %%edx\n" SEQUENCE_KEEPING "cmpl %[cpu], "
                                                                                 "4(%[area])\n jnz "
                                                                                 "%l[other]\n"
                      "9: incq %%rcx\n leaq (%%rcx, %%rcx), %%rdx\n cmpq %[rounds], %%rcx\n jb 9b\n"
                      "movq (%[counter]), %%rax\n incq %%rax\n movq %%rax, (%[counter])\n" COMMITTED
                      :
                      : [area] "r"(a), [cpu] "r"(cpu), [counter] "r"(counter), [rounds] "r"(rounds),
                        [kept] "r"(kept)
                      : "memory", "cc", "rax", "rcx", "rdx"
                      : aborted, other);
    return 0;
aborted:
    return -1;
other:
    return 1;
}
#endif
