// What frames and sigaltstack(2) tell of an alternate stack that there is not: nobody has set
// one since the program began (no flag at all), or it was taken away, or the thread is new.
#include "guest.h"
#include <pthread.h>

static stack_t seen;
static void handler(int s, siginfo_t *i, void *c) { seen = ((ucontext_t *)c)->uc_stack; }

static void tell(const char *what) {
    stack_t none = {0}, told;
    raise(SIGUSR1);
    int result = sigaltstack(&none, &told), error = result ? errno : 0;
    printf("%s: frame %p %x %zu, nothing set: %d %d\n", what, seen.ss_sp, seen.ss_flags,
           seen.ss_size, result, error);
    SAME(sigaltstack(NULL, &told), 0);
    SAME(told.ss_flags, SS_DISABLE);
}

static void *thread(void *name) { return tell(name), NULL; }

static void with_thread(char *name) {
    pthread_t id;
    pthread_create(&id, 0, thread, name);
    pthread_join(id, 0);
}

int main(void) {
    stack_t off = {.ss_flags = SS_DISABLE, .ss_sp = &off, .ss_size = 5};
    setvbuf(stdout, 0, _IONBF, 0);
    on(SIGUSR1, handler, 0);
    tell("at first");
    if (!fork()) tell("child"), _exit(0);
    wait(0);
    with_thread("thread");
    tell("still");
    SAME(sigaltstack(&off, 0), 0);
    tell("taken away");
    if (!fork()) tell("child"), _exit(0);
    wait(0);
    FINISH();
}
