// AMX: refused until the program asks for it; tiles live over calls, system calls and signals,
// which come at once or from a timer, and whose handlers use tiles of their own.
//@ cflags: -O1
//@ needs: amx_tile amx_int8
#include "guest.h"
enum { XTILEDATA = 18, REQ_XCOMP_PERM = 0x1023, ARCH_PRCTL = SYS_arch_prctl };
static u8 config[64] __attribute__((aligned(64)));
static int left[16][16], right[16][16], product[16][16];
static volatile int hits, refused;
static void handler(int s, siginfo_t *i, void *c) {
    hits++;
    u8 own[64] = {[0] = 1, [16] = 64, [48] = 16};
    asm volatile("ldtilecfg %0; tilezero %%tmm0; tilerelease" ::"m"(own));
}
static void on_refusal(int s, siginfo_t *i, void *c) {
    refused++;
    GREG(c, REG_RIP) += 5; // tilezero
}
static int byte(const int *row, int k) { return ((const signed char *)row)[k]; }
static int expected(int i, int j, int times) {
    int sum = 0;
    for (int k = 0; k < 64; k++) sum += byte(left[i], k) * byte(right[k / 4], 4 * j + k % 4);
    return sum * times;
}
static void multiply(int seed, int times) {
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) left[i][j] = seed * i + j, right[i][j] = j * seed - i;
    asm volatile("ldtilecfg %0; tileloadd (%1,%3,1), %%tmm0; tileloadd (%2,%3,1), %%tmm7; tilezero "
                 "%%tmm2" ::"m"(config),
                 "r"(left), "r"(right), "r"(64L)
                 : "memory");
    for (int n = 0; n < times; n++) {
        asm volatile("tdpbssd %tmm7, %tmm0, %tmm2");
        if (n % 8 == 3) kill(getpid(), SIGUSR1);
    }
    asm volatile("tilestored %%tmm2, (%0,%1,1); tilerelease" ::"r"(product), "r"(64L) : "memory");
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) SAME(product[i][j], expected(i, j, times));
}
int main(void) {
    config[0] = 1;
    for (int i = 0; i < 8; i++) config[16 + 2 * i] = 64, config[48 + i] = 16;
    on(SIGILL, on_refusal, 0);
    asm volatile("ldtilecfg %0; tilezero %%tmm0; tilerelease" ::"m"(config));
    SAME(refused, 1);
    if (syscall(ARCH_PRCTL, REQ_XCOMP_PERM, XTILEDATA) != 0) return puts("no permission"), 0;
    on(SIGUSR1, handler, 0);
    on(SIGALRM, handler, SA_RESTART);
    multiply(3, 40);
    SAME(hits, 5);
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, 0);
    for (int seed = 0; seed < 40; seed++) multiply(seed, 400);
    setitimer(ITIMER_REAL, &never, 0);
    CHECK(hits > 5);
    pid_t child = fork();
    if (child == 0) {
        multiply(5, 20);
        _exit(failures);
    }
    int status;
    waitpid(child, &status, 0);
    SAME(status, 0);
    FINISH();
}
