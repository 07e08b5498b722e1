// dlopen, dlsym and dlclose of system libraries and of one that is built here, over and
// over, at changing addresses; constructors and destructors run each time.
//@ libs: -ldl
#include "guest.h"
#include <dlfcn.h>
int main(void) {
    for (int r = 0; r < 30; r++) {
        void *m = dlopen("libm.so.6", RTLD_NOW);
        CHECK(m != 0);
        double (*f)(double) = dlsym(m, "cos");
        SAME(f(0.0) * 10, 10);
        f = dlsym(m, "exp");
        SAME(f(1.0) * 1000, 2718);
        void *hole =
            r % 2 ? mmap(0, 4096 * (r + 1) * 100, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : 0;
        dlclose(m);
        void *t = dlopen("libthread_db.so.1", RTLD_LAZY);
        if (t) {
            CHECK(dlsym(t, "td_init") != 0);
            dlclose(t);
        }
        CHECK(dlopen("/nonexistent.so", RTLD_NOW) == 0);
        SAME(dlsym(RTLD_DEFAULT, "no_such") != 0, 0);
    }
    FINISH();
}
