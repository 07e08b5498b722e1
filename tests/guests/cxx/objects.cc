// Static construction and destruction order, virtual calls, member pointers, lambdas,
// thread-local objects, iostreams and locales.
//@ cflags: -pthread -std=c++17
//@ variants: pie static
#include "guest.h"
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <thread>
struct Named {
    const char *n;
    Named(const char *n) : n(n) { printf("+%s\n", n); }
    ~Named() { printf("-%s\n", n); }
};
static Named first("first"), second("second");
struct Base {
    virtual int f(int x) { return x; }
    virtual ~Base() {}
    int g(int x) { return x * 2; }
};
struct A : Base {
    int f(int x) override { return x + 1; }
};
struct B : A {
    int f(int x) override { return x * 3 % 1000; }
};
int main() {
    std::unique_ptr<Base> all[] = {std::make_unique<Base>(), std::make_unique<A>(),
                                   std::make_unique<B>()};
    int v = 1;
    int (Base::*m)(int) = &Base::f, (Base::*n)(int) = &Base::g;
    for (int i = 0; i < 30000; i++) v = (all[i % 3].get()->*(i % 5 ? m : n))(v) % 100003;
    static Named local("local");
    std::thread([] {
        thread_local Named t("thread");
        t.n = "thread2";
    }).join();
    std::map<std::string, int> c;
    std::istringstream in("a b c a b a");
    for (std::string w; in >> w;) c[w]++;
    for (auto &[k, x] : c) std::cout << k << x << ' ';
    std::cout << v << ' ' << 1.5e10 << std::hex << 255 << std::endl;
    FINISH();
}
