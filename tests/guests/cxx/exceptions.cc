// C++ exceptions: through many frames with destructors, rethrown, nested, of several types,
// through C callbacks, out of constructors; unwinding reads return addresses on the stack.
//@ variants: pie static
#include "guest.h"
#include <stdexcept>
#include <string>
#include <vector>
struct D {
    int *p;
    ~D() { ++*p; }
};
static int deep(int n, int *p) {
    D d{p};
    if (!n) throw std::runtime_error("deep");
    return deep(n - 1, p) + 1;
}
struct Half {
    std::string s;
    Half() : s("half") { throw 42; }
};
static int compare(const void *a, const void *b) {
    if (*(int *)a == 7) throw std::string("from qsort");
    return *(int *)a - *(int *)b;
}
int main() {
    int unwound = 0, caught = 0;
    for (int i = 0; i < 200; i++) {
        try {
            deep(i % 60, &unwound);
        } catch (std::exception &e) {
            caught++;
            try {
                try {
                    throw;
                } catch (std::runtime_error &) { throw i; }
            } catch (int v) { SAME(v, i); }
        }
        try {
            Half h;
        } catch (int v) { SAME(v, 42); }
    }
    int v[50];
    for (int i = 0; i < 50; i++) v[i] = i;
    try {
        qsort(v, 50, sizeof *v, compare);
    } catch (std::string &s) { puts(s.c_str()); }
    try {
        std::vector<int>().at(3);
    } catch (std::out_of_range &e) { puts("range"); }
    printf("%d %d\n", unwound, caught);
    FINISH();
}
