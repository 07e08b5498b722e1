/* Signals to itself, times and process ids. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile int seen;

static void handler(int number) { seen += number; }

static int order(const void *a, const void *b) { return *(int *)a - *(int *)b; }

int main(void) {
    int numbers[100];
    signal(SIGUSR1, handler);
    for (int i = 0; i < 5; i++) raise(SIGUSR1);
    for (int i = 0; i < 100; i++) numbers[i] = rand();
    qsort(numbers, 100, sizeof *numbers, order);
    printf("%d %d %d %d\n", seen, numbers[7], getpid() > 1, time(0) > 1);
    return 3;
}
