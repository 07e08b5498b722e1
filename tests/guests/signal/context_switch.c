// makecontext and swapcontext, also out of a signal handler into another context.
#include "guest.h"
#include <ucontext.h>
static ucontext_t main_context, routine;
static char stack[65536];
static int count;
static volatile int out;
static void body(int a, int b) {
    for (;;) {
        count += a + b;
        swapcontext(&routine, &main_context);
    }
}
static void handler(int s, siginfo_t *i, void *c) { out++; setcontext(&main_context); }
int main(void) {
    getcontext(&routine);
    routine.uc_stack.ss_sp = stack;
    routine.uc_stack.ss_size = sizeof stack;
    routine.uc_link = &main_context;
    makecontext(&routine, (void (*)(void))body, 2, 3, 4);
    for (int i = 0; i < 10000; i++) swapcontext(&main_context, &routine);
    SAME(count, 70000);
    on(SIGUSR1, handler, SA_NODEFER);
    volatile int rounds = 0; getcontext(&main_context); if (rounds++ < 200) raise(SIGUSR1);
    SAME(out, 200);
    FINISH();
}
