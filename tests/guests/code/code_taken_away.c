// Code in memory that is given back, moved along its file or cut off by calls that few programs
// make (process_madvise, remap_file_pages, brk, shmat): what lies there afterwards is executed.
#include "guest.h"
#include <setjmp.h>
#include <sys/shm.h>

enum { PROCESS_MADVISE = 440, SELF = -10000, RWX = PROT_READ | PROT_WRITE | PROT_EXEC };

static sigjmp_buf back;
static void fault(int signal, siginfo_t *info, void *context) { siglongjmp(back, signal); }

// What the code returns, or minus the signal that it ends with.
static int call(u8 *code) {
    int signal = sigsetjmp(back, 1);
    return signal ? -signal : ((function)code)();
}

static void advised(void) {
    int file = memfd_create("code", 0);
    u8 bytes[2 * 4096] = {0};
    emit_return(bytes, 1), emit_return(bytes + 4096, 2);
    if (write(file, bytes, sizeof bytes) != sizeof bytes) exit(99);
    u8 *code = mmap(0, sizeof bytes, RWX, MAP_PRIVATE, file, 0);
    u64 pieces[] = {(u64)code, 4096, (u64)code + 4096, 4096, 0, 4096};
    for (int round = 0; round < 3; round++) {
        emit_return(code, 70), emit_return(code + 4096, 4);
        SAME(call(code) + call(code + 4096), 74);
        long done = syscall(PROCESS_MADVISE, SELF, pieces, 3, MADV_DONTNEED, 0);
        if (done < 0 && (errno == EINVAL || errno == EBADF || errno == ENOSYS)) return;
        SAME(done, 8192);
        SAME(call(code) + call(code + 4096), 3);
    }
}

static void remapped(void) {
    int file = memfd_create("code", 0);
    ftruncate(file, 4 * 4096);
    u8 *code = mmap(0, 4 * 4096, RWX, MAP_SHARED, file, 0);
    for (int n = 0; n < 4; n++) emit_return(code + n * 4096, 10 + n);
    mprotect(code, 4 * 4096, PROT_READ | PROT_EXEC);
    for (int n = 0; n < 4; n++) {
        SAME(call(code), 10 + n);
        SAME(remap_file_pages(code, 4096, 0, (n + 1) % 4, 0), 0);
    }
    SAME(call(code), 10);
    SAME(remap_file_pages(code, -4096ul, 0, 1, 0), -1); SAME(errno, EINVAL);
}

static void broken(void) {
    u8 *at = sbrk(0);
    at += -(u64)at & 4095;
    for (int n = 0; n < 4; n++) {
        SAME(brk(at + 2 * 4096), 0);
        SAME(mprotect(at, 4096, RWX), 0);
        SAME(at[0], 0);
        emit_return(at, n);
        SAME(call(at), n);
        SAME(brk(at), 0);
        SAME(call(at), -SIGSEGV);
    }
}

static void attached(void) {
    int id[] = {shmget(IPC_PRIVATE, 2 * 4096, 0700), shmget(IPC_PRIVATE, 2 * 4096, 0700)};
    u8 *at = pages(2, RWX);
    emit_return(at + 4096, 30);
    SAME(call(at + 4096), 30);
    for (int n = 0; n < 4; n++) {
        SAME((u64)shmat(id[n % 2], at, SHM_REMAP | SHM_EXEC), (u64)at);
        if (n < 2) emit_return(at + 4096, 31 + n);
        SAME(call(at + 4096), 31 + n % 2);
    }
    shmctl(id[0], IPC_RMID, 0), shmctl(id[1], IPC_RMID, 0);
}

int main(void) {
    on(SIGSEGV, fault, 0);
    setvbuf(stdout, 0, _IONBF, 0);
    advised(), remapped(), broken(), attached();
    FINISH();
}
