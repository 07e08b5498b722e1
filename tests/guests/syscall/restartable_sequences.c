// rseq: whichever answer the kernel or the engine gives, glibc's getcpu works and the
// thread area says consistently whether a registration exists.
#include "guest.h"
#include <sys/rseq.h>
int main(void) {
    struct rseq *r = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
    int size = __rseq_size;
    if (size) CHECK((int)r->cpu_id >= 0);
    else CHECK((int)r->cpu_id < 0);
    for (int i = 0; i < 1000; i++) CHECK(sched_getcpu() >= 0); FINISH();
}
