// A robust mutex whose owner died: EOWNERDEAD for the next, in a thread and in a killed
// process over shared memory (the kernel walks the program's own list).
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static pthread_mutex_t *m; static void *body(void *a) { pthread_mutex_lock(m); return 0; }
int main(void) {
    m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attr, 1);
    pthread_mutex_init(m, &attr);
    for (int r = 0; r < 20; r++) {
        if (r % 2) {
            pthread_t t;
            pthread_create(&t, 0, body, 0);
            pthread_join(t, 0);
        } else {
            pid_t k = fork();
            if (!k) {
                pthread_mutex_lock(m);
                kill(getpid(), SIGKILL);
            }
            waitpid(k, 0, 0);
        }
        SAME(pthread_mutex_lock(m), EOWNERDEAD);
        pthread_mutex_consistent(m);
        pthread_mutex_unlock(m);
        SAME(pthread_mutex_trylock(m), 0);
        pthread_mutex_unlock(m);
    }
    FINISH();
}
