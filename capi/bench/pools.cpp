// Time for one object of 48 bytes, made, autoreleased and cleared, 1,000 to a pool: against a single-threaded
// pool as Cocos2d-x has it, in plain C++. And a retain with a release, against a bare std::atomic.
//
//     cargo build --release -p releasepool-capi
//     L=target/release/libreleasepool_capi.a
//     c++ -O2 -std=c++17 -Icapi/include capi/bench/pools.cpp $L -o pools -pthread -ldl -lm && ./pools
//
// Each figure is the median of 2,000 rounds, in nanoseconds; the second line is from two threads at once.
#include "releasepool.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace {

struct SingleRef {
    virtual ~SingleRef() = default;
    void release() {
        if (--count == 0) {
            delete this;
        }
    }
    unsigned count = 1;
};
struct SingleNode : SingleRef {
    explicit SingleNode(long n) : values{n, n, n, n} {}
    long values[4];
};
static_assert(sizeof(SingleNode) == 48);

// As in Cocos2d-x: a vector that is swapped out, released in order and freed.
struct SinglePool {
    SinglePool() { entries.reserve(150); }
    void clear() {
        std::vector<SingleRef*> releasing;
        releasing.swap(entries);
        for (SingleRef* object : releasing) {
            object->release();
        }
    }
    std::vector<SingleRef*> entries;
};

struct Node : rp::Object {
    explicit Node(long n) : values{n, n, n, n} {}
    long values[4];
};
struct Values {
    long values[6];
};
static_assert(sizeof(Values) == 48);

constexpr int objects = 1000;

template <class F> double median(F f) {
    std::vector<double> times;
    for (int round = 0; round < 2000; ++round) {
        const auto began = std::chrono::steady_clock::now();
        f();
        const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - began;
        times.push_back(time.count() / objects);
    }
    std::nth_element(times.begin(), times.begin() + 1000, times.end());
    return times[1000];
}

void measure() {
    SinglePool single;
    const double plain_cpp = median([&] {
        for (int i = 0; i < objects; ++i) {
            single.entries.push_back(new SingleNode(i));
        }
        single.clear();
    });
    rp::AutoreleasePool pool;
    const double with_values = median([&] {
        for (long i = 0; i < objects; ++i) {
            rp::create<Values>(Values{{i, i, i, i, i, i}});
        }
        pool.drain();
    });
    const double with_create = median([&] {
        for (int i = 0; i < objects; ++i) {
            rp::create<Node>(i);
        }
        pool.drain();
    });
    const double with_new = median([&] {
        for (int i = 0; i < objects; ++i) {
            rp::autorelease(rp::adopt(new Node(i)));
        }
        pool.drain();
    });
    const rp::Ref<Node> shared = rp::make<Node>(1);
    const double pair = median([&] {
        for (int i = 0; i < objects; ++i) {
            const rp::Ref<Node> copy(shared);
            asm volatile("" ::: "memory");
        }
    });
    std::atomic<unsigned long> count{1};
    const double bare = median([&] {
        for (int i = 0; i < objects; ++i) {
            count.fetch_add(1, std::memory_order_relaxed);
            asm volatile("" ::: "memory");
            count.fetch_sub(1, std::memory_order_release);
        }
    });
    static std::mutex printing;
    const std::lock_guard<std::mutex> lock(printing);
    std::printf("single-threaded pool %.1f | plain values %.1f (%.2f x) | rp::create %.1f (%.2f x) | new %.1f (%.2f x)"
                " | retain and release %.1f, bare atomic %.1f\n",
                plain_cpp, with_values, plain_cpp / with_values, with_create, plain_cpp / with_create, with_new,
                plain_cpp / with_new, pair, bare);
}

} // namespace

int main() {
    measure();
    std::thread other(measure);
    measure();
    other.join();
}
