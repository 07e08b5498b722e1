// Generated code after fork: parent and child change their copies independently, and a
// shared mapping together.
#include "guest.h"
int main(void) {
    u8 *own = pages(1, 7), *both = mmap(0, 4096, 7, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    emit_return(own, 1);
    emit_return(both, 1);
    SAME(((function)own)(), 1);
    SAME(((function)both)(), 1);
    for (u32 r = 2; r < 30; r++) {
        pid_t k = fork();
        if (!k) {
            SAME(((function)own)(), 1);
            emit_return(own, r);
            SAME(((function)own)(), r);
            emit_return(both, r);
            SAME(((function)both)(), r);
            _exit(failures);
        }
        int s;
        waitpid(k, &s, 0);
        SAME(s, 0);
        SAME(((function)own)(), 1);
        SAME(((function)both)(), r);
    }
    FINISH();
}
