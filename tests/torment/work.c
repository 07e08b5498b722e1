// Work of many kinds, each with output that no signal may change.
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t x = 88172645463325252;
static uint64_t rnd(void) { x ^= x << 13, x ^= x >> 7, x ^= x << 17; return x; }
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static uint64_t add(uint64_t a) { return a + 3; }
static uint64_t mix(uint64_t a) { return a * 0x9e3779b97f4a7c15; }
static uint64_t turn(uint64_t a) { return a << 7 | a >> 57; }
static uint64_t deep(uint64_t a) { return a & 31 ? deep(a - 1) + 1 : a; }
static uint64_t branches(void) {
    static uint64_t (*const f[])(uint64_t) = {add, mix, turn, deep};
    uint64_t s = 0;
    for (int i = 0; i < 3000000; i++) switch (rnd() & 7) {
        case 0:
            s += f[s & 3](s);
            break;
        case 1:
            s ^= deep(s & 63);
            break;
        case 2:
            s = mix(s);
            break;
        case 5:
            s -= i;
            break;
        default:
            s = f[i & 3](s);
        }
    return s;
}
static int order(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}
static uint64_t strings(void) {
    uint64_t s = 0;
    static char text[4000][40], *sorted[4000];
    for (int r = 0; r < 12; r++) {
        for (int i = 0; i < 4000; i++)
            sorted[i] = text[i],
            snprintf(text[i], 40, "%llx-%d-%g", (unsigned long long)rnd(), i, i / 7.0);
        qsort(sorted, 4000, sizeof *sorted, order);
        for (int i = 0; i < 4000; i++) {
            char *p = strchr(sorted[i], '-');
            s = s * 31 + (p ? atoi(p + 1) : 0) + strlen(sorted[i]);
            char t[80];
            memcpy(t, sorted[i], 40);
            memmove(t + 7, t, 40);
            s += (unsigned char)t[20];
        }
    }
    return s;
}
static uint64_t floats(void) {
    double a[256]; long double l = 1; float f[256]; uint64_t s;
    for (int i = 0; i < 256; i++) a[i] = i, f[i] = i;
    for (int r = 0; r < 20000; r++) {
        for (int i = 0; i < 256; i++)
            a[i] = a[i] * 1.0000001 + f[(i + r) & 255], f[i] = f[i] * 0.5f + (float)i;
        l = l * 1.00000001L + sqrtl(l);
        if (l > 1e9L) l = 1;
    }
    double t = sin(a[17]) + (double)l + f[3]; memcpy(&s, &t, 8); return s;
}
static uint64_t copies(void) {
    enum { N = 1 << 16 }; uint8_t *a = malloc(N), *b = malloc(N); uint64_t s = 0;
    for (int i = 0; i < N; i++) a[i] = rnd();
    for (int r = 0; r < 2000; r++) {
        void *d = b, *q = a;
        uint64_t n = N - r;
        asm volatile("rep movsb" : "+D"(d), "+S"(q), "+c"(n)::"memory");
        d = a + r % 100;
        n = 100;
        asm volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(b[r]) : "memory");
        s = s * 7 + b[(r * 37) % N];
    }
    return s;
}
static uint64_t calls(void) {
    uint64_t s = 0;
    pid_t me = getpid();
    for (int i = 0; i < 200000; i++) {
        s += getpid() == me;
        if (i % 64 == 0) {
            void *m = mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *(volatile char *)m = 1;
            s += munmap(m, 8192) == 0;
        }
        s += syscall(SYS_getppid) != 0;
    }
    return s;
}
static uint64_t pipes(void) {
    int to[2], from[2]; if (pipe(to) || pipe(from)) exit(97);
    pid_t k = fork();
    if (!k) {
        uint32_t v;
        close(to[1]);
        while (read(to[0], &v, 4) == 4) {
            v = v * 3 + 1;
            if (write(from[1], &v, 4) != 4) _exit(1);
        }
        _exit(0);
    }
    uint64_t s = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t v = i;
        if (write(to[1], &v, 4) != 4) exit(96);
        ssize_t n = read(from[0], &v, 4);
        if (n != 4) printf("read gave %zd %d\n", n, errno);
        s += v;
    }
    close(to[1]); waitpid(k, 0, 0); return s;
}
static uint64_t forks(void) {
    uint64_t s = 0;
    for (int i = 0; i < 400; i++) {
        pid_t k = i % 3 ? fork() : vfork();
        if (!k) _exit(i & 63);
        int st;
        if (waitpid(k, &st, 0) != k) printf("waitpid %d\n", errno);
        s += WEXITSTATUS(st);
    }
    return s;
}
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static uint64_t shared_, turn_;
static void *worker(void *p) {
    uint64_t id = (uintptr_t)p;
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&m);
        while (turn_ % 4 != id) pthread_cond_wait(&c, &m);
        turn_++;
        shared_ = shared_ * 5 + id;
        pthread_cond_broadcast(&c);
        pthread_mutex_unlock(&m);
    }
    return 0;
}
static void *brief(void *p) { return (void *)((uintptr_t)p * 3); }
static uint64_t threads(void) {
    pthread_t t[4]; for (uintptr_t i = 0; i < 4; i++) pthread_create(t + i, 0, worker, (void *)i);
    uint64_t s = 0;
    for (uintptr_t i = 0; i < 1000; i++) {
        pthread_t b;
        void *r;
        pthread_create(&b, 0, brief, (void *)i);
        pthread_join(b, &r);
        s += (uintptr_t)r;
    }
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return s + shared_;
}
static uint64_t generated(void) {
    uint8_t *p = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t s = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        p[0] = 0xb8;
        memcpy(p + 1, &i, 4);
        p[5] = 0xc3;
        for (int k = 0; k < 20; k++) s += ((uint32_t(*)(void))p)();
    }
    return s;
}
static uint64_t jumps(void) {
    static jmp_buf b;
    volatile uint64_t s = 0;
    for (volatile int i = 0; i < 300000; i++) {
        int v = setjmp(b);
        if (v < 3) {
            s += v;
            longjmp(b, v + 1);
        }
    }
    return s;
}
static uint64_t sleeps(void) {
    uint64_t s = 0;
    for (int i = 0; i < 100; i++) {
        double t = seconds();
        struct timespec n = {0, 3000000}, r;
        while (nanosleep(&n, &r)) n = r;
        s += seconds() - t >= 0.0029;
    }
    return s;
}
static uint64_t heap(void) {
    static char *p[500];
    uint64_t s = 0;
    for (int i = 0; i < 300000; i++) {
        int k = rnd() % 500;
        free(p[k]);
        size_t n = 1 + rnd() % 3000;
        p[k] = malloc(n);
        p[k][n - 1] = k;
        s += (unsigned char)p[k][n - 1];
    }
    return s;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        uint64_t (*f)(void);
        int times;
    } all[] = {{"branches", branches, 10}, {"strings", strings, 20}, {"floats", floats, 80},
               {"copies", copies, 120},    {"calls", calls, 5},      {"pipes", pipes, 4},
               {"forks", forks, 4},        {"threads", threads, 4},  {"generated", generated, 4},
               {"jumps", jumps, 30},       {"sleeps", sleeps, 3},    {"heap", heap, 10}};
    if (argc < 2) {
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) puts(all[i].name);
        return 0;
    }
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], all[i].name))
            for (int t = 0; t < all[i].times; t++)
                printf("%s %llx\n", argv[1], (unsigned long long)all[i].f());
    return 0;
}
