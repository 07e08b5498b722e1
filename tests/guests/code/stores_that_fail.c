// A store beside code that the program itself has made impossible otherwise than by mprotect
// (guard pages of madvise, protection keys): its own fault, at the first try.
#include "guest.h"
#include <setjmp.h>

enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103, RWX = PROT_READ | PROT_WRITE | PROT_EXEC };
static sigjmp_buf back;
static int code_of_fault;
static void fault(int signal, siginfo_t *info, void *context) {
    code_of_fault = info->si_code;
    siglongjmp(back, signal);
}

static int store(u8 *at) {
    int signal = sigsetjmp(back, 1);
    if (!signal) *(volatile u8 *)at = 9;
    return signal;
}

static void guarded(int stores) {
    u8 *page = pages(1, RWX);
    for (int n = 0; n < stores; n++) {
        emit_return(page, n);
        SAME(((function)page)(), n);
        SAME(store(page + 2048), 0);
    }
    emit_return(page, 1);
    SAME(((function)page)(), 1);
    if (stores % 2) SAME(store(page + 2048), 0);
    if (madvise(page, 4096, GUARD_INSTALL)) return;
    SAME(store(page + 2048), SIGSEGV);
    SAME(store(page), SIGSEGV);
    SAME(madvise(page, 4096, GUARD_REMOVE), 0);
    SAME(store(page + 2048), 0);
    emit_return(page, 3);
    SAME(((function)page)(), 3);
}

static void keyed(int stores) {
    u8 *page = pages(1, RWX);
    int key = syscall(SYS_pkey_alloc, 0, 0);
    if (key < 0) return;
    SAME(syscall(SYS_pkey_mprotect, page, 4096, RWX, key), 0);
    for (int n = 0; n < stores; n++) {
        emit_return(page, n);
        SAME(((function)page)(), n);
        SAME(store(page + 2048), 0);
    }
    pkey_set(key, 2);
    SAME(store(page + 2048), SIGSEGV);
    SAME(code_of_fault, 4);
    SAME(((function)page)(), stores - 1);
    pkey_set(key, 0);
    SAME(store(page + 2048), 0);
    syscall(SYS_pkey_free, key);
}

int main(void) {
    on(SIGSEGV, fault, 0);
    for (int n = 1; n < 60; n += 7) guarded(n), guarded(n + 1), keyed(n);
    FINISH();
}
