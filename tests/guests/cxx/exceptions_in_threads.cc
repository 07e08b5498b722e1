// Exceptions thrown and caught in several threads at once, carried between them, and
// noexcept leading to terminate.
//@ cflags: -pthread
#include "guest.h"
#include <exception>
#include <future>
#include <thread>
#include <vector>
static int deep(int n) {
    if (!n) throw 5;
    return deep(n - 1) + 1;
}
static void never() noexcept { throw 1; }
int main() {
    std::atomic<int> caught{0};
    std::vector<std::thread> t;
    for (int q = 0; q < 6; q++)
        t.emplace_back([&, q] {
            for (int i = 0; i < 300; i++) try {
                    deep(q * 5 + i % 7);
                } catch (int) { caught++; }
        });
    for (auto &x : t) x.join();
    SAME(caught, 1800);
    std::promise<int> p;
    std::thread s([&] {
        try {
            deep(10);
        } catch (...) { p.set_exception(std::current_exception()); }
    });
    try {
        p.get_future().get();
    } catch (int v) { SAME(v, 5); }
    s.join();
    auto f = std::async(std::launch::async, [] { return deep(3); });
    try {
        f.get();
    } catch (int v) { SAME(v, 5); }
    fflush(stdout);
    pid_t k = fork();
    if (!k) {
        close(2);
        never();
    }
    report_child("terminate", k);
    FINISH();
}
