// Another process changes code that has been translated: the one way to make translated
// code wrong that is a known limit, and so a test of what is to find wrong code.
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int next(int);
__asm__(".text; .globl next; next: lea 1(%rdi), %eax; ret");

int main(void) {
    long sum = 0;
    for (int i = 0; i < 1000; i++) sum += next(i);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (fork() == 0) {
        char name[40], two = 2;
        snprintf(name, sizeof name, "/proc/%d/mem", getppid());
        int mem = open(name, O_WRONLY);
        _exit(pwrite(mem, &two, 1, (long)next + 2) != 1);
    }
    int status;
    wait(&status);
    for (int i = 0; i < 1000000; i++) sum += next(i);
    printf("%d %ld\n", status, sum);
}
