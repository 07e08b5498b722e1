// The program's own exit status reaches the caller.
//@ variants: pie static
//@ run: 0 => exit 0
//@ run: 1 => exit 1
//@ run: 125 => exit 125
//@ run: 126 => exit 126
//@ run: 127 => exit 127
//@ run: 128 => exit 128
//@ run: 139 => exit 139
//@ run: 255 => exit 255
//@ run: 256 => exit 0
#include "guest.h"
int main(int argc, char **argv) { printf("unflushed %s", argv[1]); exit(atoi(argv[1])); }
