// What /proc tells of mapped files, sums and nodes, and PROCMAP_QUERY: as natively.
#include "guest.h"
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

struct query {
    u64 size, flags, address, start, end, vma_flags, page_size, offset, inode;
    unsigned major, minor, name_size, build_id_size;
    u64 name, build_id;
};
#define QUERY _IOWR('f', 17, struct query)
enum { READABLE = 1, WRITABLE = 2, EXECUTABLE = 4, SHARED = 8, NEXT = 16, OF_A_FILE = 32 };

static char text[1 << 18];

static int all(const char *path) {
    int fd = open(path, O_RDONLY), len = 0, n;
    while (fd >= 0 && (n = read(fd, text + len, sizeof text - 1 - len)) > 0) len += n;
    text[len] = 0;
    close(fd);
    return len;
}
static int lines_of(const char *path) {
    int lines = 0;
    all(path);
    for (char *at = text; *at; at++) lines += *at == '\n';
    return lines;
}
// Mappings of files: lines with a path, in which blanks may follow one another.
static int files_mapped(void) {
    int files = 0;
    all("/proc/self/maps");
    for (char *line = strtok(text, "\n"); line; line = strtok(0, "\n"))
        files += strchr(line, '/') != 0;
    return files;
}
static int in_folder(const char *path, int small) {
    int fd = open(path, O_RDONLY | O_DIRECTORY), n, links = 0, least = 1 << 20;
    if (fd < 0) return -1;
    while ((n = syscall(SYS_getdents64, fd, text, small ? 80 : sizeof text)) > 0)
        for (int at = 0; at < n; at += *(unsigned short *)(text + at + 16)) {
            links += text[at + 19] != '.';
            if (n < least) least = n;
        }
    close(fd);
    return links;
}
static void map_files(void) {
    int mapped = files_mapped();
    DIR *folder = opendir("/proc/self/map_files");
    int links = 0, named = 0, seen = 0, other = 0;
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char target[4096];
        struct stat status;
        if (*entry->d_name == '.') continue;
        links++;
        int len = readlinkat(dirfd(folder), entry->d_name, target, sizeof target);
        named += len > 0, other += len > 0 && (memmem(target, len, "ppin.db", 7) ||
                                               memmem(target, len, "/units/", 7));
        seen += fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    }
    if (folder) closedir(folder);
    printf("map_files: %s, names %s, links %s, %d of others\n",
           links == mapped ? "as mapped" : "not as mapped", named == links ? "all" : "not all",
           seen == links ? "all" : "not all", other);
    printf("in small steps %s\n",
           in_folder("/proc/self/map_files", 1) == links ? "the same" : "another number");
    char path[64];
    sprintf(path, "/proc/%d/map_files/", getpid());
    printf("by number %s\n", in_folder(path, 0) == links ? "the same" : "another number");
    printf("as a thread %d\n", in_folder("/proc/thread-self/map_files", 0));

    // A name that was never there, and one of this program.
    SAME(open("/proc/self/map_files/1000-2000", O_PATH | O_NOFOLLOW), -1);
    SAME(errno, ENOENT);
}
// Every address that could be somebody's is asked for by name.
static void names_that_are_not(void) {
    int found = 0;
    chdir("/proc/self/map_files");
    for (u64 at = 0x550000000000; at < 0x550001000000; at += 4096) {
        char name[64];
        struct stat status;
        sprintf(name, "%llx-%llx", (unsigned long long)at, (unsigned long long)at + 4096);
        found += lstat(name, &status) == 0;
    }
    chdir("/");
    printf("%d found\n", found);
}
static long sum(const char *path, const char *name) {
    long total = 0;
    size_t len = strlen(name);
    all(path);
    for (char *line = strtok(text, "\n"); line; line = strtok(0, "\n"))
        if (!strncmp(line, name, len)) total += atol(line + len);
    return total;
}
static void sums(void) {
    static const char *const names[] = {"Rss:", "Anonymous:", "Swap:", "Private_Hugetlb:"};
    printf("rollup has %d lines\n", lines_of("/proc/self/smaps_rollup"));
    for (unsigned n = 0; n < 4; n++) {
        long difference =
            sum("/proc/self/smaps_rollup", names[n]) - sum("/proc/self/smaps", names[n]);
        // Between the two looks pages come and go.
        printf("%s %s\n", names[n],
               difference > -200 && difference < 200 ? "fits" : "does not fit");
    }
    u64 first, last, from, to;
    all("/proc/self/smaps_rollup"), sscanf(text, "%lx-%lx", &first, &last);
    all("/proc/self/maps"), sscanf(text, "%lx-%lx", &from, &to);
    printf("begins %s\n", from == first ? "with the first mapping" : "elsewhere");
}
static void nodes(u8 *code) {
    int mappings = lines_of("/proc/self/maps"), nodes = lines_of("/proc/self/numa_maps"), found = 0;
    // The vsyscall page is in one list alone.
    all("/proc/self/maps");
    mappings -= strstr(text, "[vsyscall]") != 0;
    all("/proc/self/numa_maps");
    for (char *line = strtok(text, "\n"); line; line = strtok(0, "\n"))
        found += strtoul(line, 0, 16) == (u64)code;
    printf("numa_maps: %s, %d of it\n", !nodes || nodes == mappings ? "as mapped" : "not as mapped",
           nodes ? found : 1);
}
static void ask(const char *what, int fd, u64 flags, u64 address, u8 *code) {
    char name[256] = "";
    struct query query = {.size = sizeof query,
                          .flags = flags,
                          .address = address,
                          .name = (u64)name,
                          .name_size = sizeof name};
    int result = ioctl(fd, QUERY, &query);
    if (result) printf("%s: %s\n", what, errno == ENOTTY ? "unknown" : strerror(errno));
    else
        printf("%s: %ld pages from %ld, flags %lx, %s; flags and address %s\n", what,
               (long)(query.end - query.start) / 4096, ((long)query.start - (long)code) / 4096,
               query.vma_flags, query.name_size ? strrchr(name, '/') : "no name",
               query.flags == flags && query.address == address ? "kept" : "lost");
}
static void questions(u8 *code) {
    int fd = open("/proc/self/maps", O_RDONLY), second = open("/proc/self/maps", O_RDONLY);
    struct query query = {.size = sizeof query};
    if (ioctl(fd, QUERY, &query) && errno == ENOTTY) {
        puts("no such question");
        return;
    }
    for (int again = 0; again < 2; again++) {
        ask("code", fd, 0, (u64)code + 8192, code);
        ask("writable", fd, WRITABLE | EXECUTABLE, (u64)code + 4096, code);
        ask("before", fd, NEXT, (u64)code - 4096, code);
        ask("nothing", fd, 0, (u64)code - 4096, code);
        ask("shared", fd, SHARED, (u64)code, code);
        ask("unknown", fd, 1 << 20, (u64)code, code);
        // From here on another file is behind the descriptor.
        read(fd, text, 10), lseek(fd, 0, SEEK_SET);
    }
    // Walks all mappings: as many as the list has.
    int walked = 0, files = 0;
    for (query.flags = NEXT, query.address = 0; !ioctl(second, QUERY, &query);
         query.address = query.end, query.size = sizeof query)
        walked++;
    SAME(errno, ENOENT);
    for (query.flags = NEXT | OF_A_FILE, query.address = 0; !ioctl(second, QUERY, &query);
         query.address = query.end)
        files++;
    close(second);
    int mapped = files_mapped(), lines = lines_of("/proc/self/maps");
    lines -= strstr(text, "[vsyscall]") != 0;
    printf("walked %s, files %s\n", walked == lines ? "all" : "others",
           files == mapped ? "all" : "others");
    query.size = 5000;
    SAME(ioctl(fd, QUERY, &query), -1);
    SAME(errno, E2BIG);
    query.size = 8;
    SAME(ioctl(fd, QUERY, &query), -1);
    SAME(errno, EINVAL);
    SAME(ioctl(fd, QUERY, 8), -1);
    SAME(errno, EFAULT);
}
int main(void) {
    // A page alone between others that cannot be used: pages of code are in its middle.
    u8 *around = pages(7, 0), *code = around + 4096;
    mprotect(code, 5 * 4096, 7);
    munmap(around, 4096);
    emit_return(code + 8192, 7);
    SAME(((function)(code + 8192))(), 7);
    map_files(), names_that_are_not(), sums(), nodes(code), questions(code);
    return 0;
}
