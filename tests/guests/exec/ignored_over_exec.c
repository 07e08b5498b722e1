// Signals that are ignored stay ignored over an exec, those with the numbers of faults as well: in
// the same process, a forked one, a vforked one, one of posix_spawn, with handlers cleared, and in
// programs that ppin does not follow (here: one of 32 bits).
//@ variants: pie static
//@ timeout: 60
#include "guest.h"
#include <linux/sched.h>
#include <spawn.h>

extern char **environ;
static const int SIGNALS[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGHUP, SIGUSR1, SIGCHLD};
enum { COUNT = sizeof SIGNALS / sizeof *SIGNALS };
static char *SELF = "/proc/self/exe";

// What this program began with, and that the signals sent to it are ignored.
static int began(int depth) {
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    for (int n = 0; n < COUNT; n++) {
        struct sigaction now;
        sigaction(SIGNALS[n], 0, &now);
        printf("%s%x",
               now.sa_handler == SIG_IGN   ? "ignored "
               : now.sa_handler == SIG_DFL ? "default "
                                           : "handled ",
               now.sa_flags);
        if (now.sa_handler == SIG_IGN) raise(SIGNALS[n]), putchar('!');
        putchar(' ');
    }
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "SigIgn", 6)) fputs(line, stdout);
    fclose(status), fflush(stdout);
    if (depth < 2) return execl(SELF, "self", depth ? "2" : "1", (char *)0), 90;
    return 0;
}

static void handler(int signal) {}
static void child(void) { execl(SELF, "self", "0", (char *)0), _exit(91); }

static void start(int how) {
    pid_t pid = 0;
    char *words[] = {"self", "1", 0};
    struct clone_args args = {.flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD};
    posix_spawnattr_t attributes;
    sigset_t some;
    fflush(stdout);
    switch (how) {
    case 0: pid = fork(); break;
    case 1: if (!(pid = vfork())) execl(SELF, "self", "1", (char *)0), _exit(92); break;
    case 2: posix_spawn(&pid, SELF, 0, 0, words, environ); break;
    case 3:
        posix_spawnattr_init(&attributes);
        sigemptyset(&some), sigaddset(&some, SIGFPE), sigaddset(&some, SIGHUP);
        posix_spawnattr_setsigdefault(&attributes, &some);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        posix_spawn(&pid, SELF, 0, &attributes, words, environ);
        break;
    case 4: pid = syscall(SYS_clone3, &args, sizeof args); break;
    }
    if (!pid) child();
    report_child("child", pid);
}

// A program of 32 bits: asks rt_sigaction for the signal of its name, and exits with its handler.
static const u8 CODE[] = {
    0x59, 0x5b,                         // pop ecx, ebx: count of arguments, name
    0x0f, 0xb6, 0x1b, 0x83, 0xeb, 0x40, // movzx ebx, byte [ebx]; sub ebx, '@'
    0x31, 0xc9, 0x83, 0xec, 0x40,       // xor ecx, ecx; sub esp, 64
    0x89, 0xe2, 0xbe, 8, 0, 0, 0,       // mov edx, esp; mov esi, 8
    0xb8, 174, 0, 0, 0, 0xcd, 0x80,     // mov eax, 174; int 0x80
    0x8b, 0x1a, 0xb8, 1, 0, 0, 0, 0xcd, 0x80, // mov ebx, [edx]; mov eax, 1; int 0x80
};

static void strangers(void) {
    u32 header[21] = {0x464c457f,
                      0x010101,
                      0,
                      0,
                      3 << 16 | 2,
                      1,
                      0x8000054,
                      52,
                      0,
                      0,
                      32 << 16 | 52,
                      1,
                      0,
                      1,
                      0,
                      0x8000000,
                      0x8000000,
                      84 + sizeof CODE,
                      84 + sizeof CODE,
                      5,
                      4096};
    header[4] = 3 << 16 | 2;
    int file = open("stranger", O_CREAT | O_WRONLY | O_TRUNC, 0755);
    write(file, header, sizeof header), write(file, CODE, sizeof CODE), close(file);
    fflush(stdout);
    for (int n = 0; n < COUNT; n++) {
        char name[] = {'@' + SIGNALS[n], 0};
        pid_t pid = n % 2 ? fork() : vfork();
        if (!pid) execl("./stranger", name, (char *)0), _exit(93);
        report_child(name, pid);
    }
    unlink("stranger");
}

int main(int count, char **words) {
    if (count > 1) return began(atoi(words[1]));
    for (int n = 0; n < COUNT - 1; n++) signal(SIGNALS[n], n % 3 == 2 ? handler : SIG_IGN);
    signal(SIGBUS, SIG_IGN);
    for (int how = 0; how < 5; how++) start(how);
    for (int n = 0; n < 5; n++) signal(SIGNALS[n], n % 2 ? SIG_DFL : SIG_IGN);
    for (int how = 0; how < 5; how++) start(how);
    strangers();
    return failures;
}
