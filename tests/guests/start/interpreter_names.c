// Modules as the dynamic loader counts them: dl_iterate_phdr and maps name this
// program, libc, ld.so and the vdso, and no library of ours is among the loader's.
#include "guest.h"
#include <link.h>
static int each(struct dl_phdr_info *info, size_t size, void *data) {
    const char *slash = strrchr(info->dlpi_name, '/');
    printf("%s %d\n", slash ? slash + 1 : info->dlpi_name, info->dlpi_phnum);
    return 0;
}
int main(int argc, char **argv) {
    dl_iterate_phdr(each, 0);
    char line[4096];
    int exe = 0, libc = 0, vdso = 0, wx = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)) {
        exe += strstr(line, argv[0]) != 0;
        libc += strstr(line, "/libc.so.6") != 0;
        vdso += strstr(line, "[vdso]") != 0;
    }
    printf("%d %d %d\n", exe > 2, libc > 2, vdso);
    FINISH();
}
