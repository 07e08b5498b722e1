// The main thread ends with pthread_exit while others go on; the last one's return ends
// the process with status 0.
//@ libs: -lpthread
#include "guest.h"
#include <pthread.h>
static void *body(void *a) { usleep(20000 * (long)a); printf("thread %ld\n", (long)a); fflush(stdout); return 0; }
int main(void) { for (long i = 1; i < 4; i++) { pthread_t t; pthread_create(&t, 0, body, (void *)i); } puts("main"); fflush(stdout); pthread_exit(0); }
