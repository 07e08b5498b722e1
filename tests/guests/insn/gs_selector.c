// The selector of gs: read, pushed, popped and loaded, with what that does to the base; each
// task has its own, handlers see and change their thread's.
//@ needs: fsgsbase
//@ libs: -lpthread
#include "guest.h"
#include <asm/prctl.h>
#include <pthread.h>
static u64 block[4] = {1, 2, 3, 4}, other[4] = {5, 6, 7, 8};
static u64 base(void) { u64 v; asm volatile("rdgsbase %0" : "=r"(v)); return v; }
static void gs(const void *p) { asm volatile("wrgsbase %0" ::"r"(p)); }
static u64 get(void) { u64 v = 1; syscall(SYS_arch_prctl, ARCH_GET_GS, &v); return v; }
static u32 selector(void) { u32 v = -1; asm volatile("mov %%gs, %0" : "=r"(v)); return v; }
static void show(const char *what) {
    printf("%s: selector %x base %s, the kernel says %d\n", what, selector(),
           base() == (u64)block   ? "block"
           : base() == (u64)other ? "other"
           : base()               ? "?"
                                  : "0",
           get() == base());
}
static void handler(int s, siginfo_t *i, void *c) { show("handler"); gs(other); }
static void *thread(void *arg) { show("thread"); gs(arg); show("thread"); return 0; }
int main(void) {
    show("start");
    gs(block); show("written"); u64 v;
    asm volatile("pushq %%gs; pop %0" : "=r"(v)); printf("pushed %lx\n", v);
    asm volatile("mov %0, %%gs" ::"r"(0x2b)); show("data segment");
    gs(block);
    show("written over");
    asm volatile("pushq %%gs; pop %0" : "=r"(v));
    printf("pushed %lx\n", v);
    u64 m = -1; asm volatile("mov %%gs, %0" : "+m"(m)); printf("stored %lx\n", m);
    on(SIGUSR1, handler, 0); raise(SIGUSR1); show("behind");
    gs(block); pthread_t t; pthread_create(&t, 0, thread, other); pthread_join(t, 0); show("main");
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        show("child");
        gs(other);
        show("child");
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, 0, 0);
    show("parent");
    asm volatile("pushq $0; pop %%gs" ::: "memory"); show("popped"); gs(block);
    struct {
        u32 offset;
        unsigned short sel;
    } far = {7, 0x2b};
    u32 off;
    asm volatile("lgs %1, %0" : "=r"(off) : "m"(far));
    show("lgs");
    SAME(off, 7);
    SAME(syscall(SYS_arch_prctl, ARCH_SET_GS, other), 0);
    show("arch_prctl");
    SAME(syscall(SYS_arch_prctl, ARCH_SET_GS, -4096l), -1);
    SAME(errno, EPERM);
    SAME(syscall(SYS_arch_prctl, ARCH_GET_GS, 8), -1); SAME(errno, EFAULT); show("still");
    u32 r;
    asm volatile("rdgsbase %0" : "=r"(r));
    SAME(r, (u32)base());
    asm volatile("wrgsbase %0" ::"r"(0x89abcdefu));
    SAME(base(), 0x89abcdef);
    FINISH();
}
