// Measures the time to make, autorelease and clear an object of 48 bytes, 1,000 to a pool, and
// compares it with a single-threaded pool in plain C++, like that of Cocos2d-x, and with Rust. Also
// compares a retain and its release with a bare std::atomic's. Runs on one thread, and two at once.
//
//     cargo build --release -p releasepool-capi --example bench_pools
//     L=target/release/examples/libbench_pools.a
//     c++ -O2 -std=c++17 -DRUST -Icapi/include capi/bench/pools.cpp $L -o pools -pthread -ldl -lm && ./pools
//
// An installed library has no Rust side: leave out -DRUST, and set L=libreleasepool.a or
// L=libreleasepool.so. All ways take turns, 100 rounds at a time. Each figure is the median of
// 2,000 rounds, in nanoseconds.
#include "releasepool.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#ifdef RUST
extern "C" {
void bench_rust_values(std::int64_t n);
void bench_rust_nodes(std::int64_t n);
}
#endif

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

enum Way { single_pool, values, created, by_new, pair, bare, rust_values, rust_nodes, ways };
using Figures = std::array<double, ways>;

Figures measure() {
    SinglePool single;
    rp::AutoreleasePool pool;
    const rp::Ref<Node> shared = rp::make<Node>(1);
    std::atomic<unsigned long> count{1};
    std::array<std::function<void()>, ways> all;
    all[single_pool] = [&] {
        for (int i = 0; i < objects; ++i) {
            single.entries.push_back(new SingleNode(i));
        }
        single.clear();
    };
    all[values] = [&] {
        for (long i = 0; i < objects; ++i) {
            rp::create<Values>(Values{{i, i, i, i, i, i}});
        }
        pool.drain();
    };
    all[created] = [&] {
        for (int i = 0; i < objects; ++i) {
            rp::create<Node>(i);
        }
        pool.drain();
    };
    all[by_new] = [&] {
        for (int i = 0; i < objects; ++i) {
            rp::autorelease(rp::adopt(new Node(i)));
        }
        pool.drain();
    };
    all[pair] = [&] {
        for (int i = 0; i < objects; ++i) {
            const rp::Ref<Node> copy(shared);
            asm volatile("" ::: "memory");
        }
    };
    all[bare] = [&] {
        for (int i = 0; i < objects; ++i) {
            count.fetch_add(1, std::memory_order_relaxed);
            asm volatile("" ::: "memory");
            count.fetch_sub(1, std::memory_order_release);
        }
    };
#ifdef RUST
    all[rust_values] = [] { bench_rust_values(objects); };
    all[rust_nodes] = [] { bench_rust_nodes(objects); };
#endif
    std::array<std::vector<double>, ways> times;
    for (int turn = 0; turn < 20; ++turn) {
        for (std::size_t way = 0; way < ways; ++way) {
            for (int round = 0; all[way] && round < 100; ++round) {
                const auto began = std::chrono::steady_clock::now();
                all[way]();
                const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - began;
                times[way].push_back(time.count() / objects);
            }
        }
    }
    Figures figures{};
    for (std::size_t way = 0; way < ways; ++way) {
        if (!times[way].empty()) {
            std::nth_element(times[way].begin(), times[way].begin() + 1000, times[way].end());
            figures[way] = times[way][1000];
        }
    }
    return figures;
}

void print(const char* name, Way way, Way rust, const Figures& one, const Figures& two) {
    std::printf("%-24s %5.1f ns, %4.2f x as fast as the single-threaded pool; two threads take %4.2f x as long",
                name, one[way], one[single_pool] / one[way], two[way] / one[way]);
    if (one[rust] != 0) {
        std::printf("; Rust %5.1f ns, C++ takes %4.2f x as long", one[rust], one[way] / one[rust]);
    }
    std::printf("\n");
}

} // namespace

int main() {
    const Figures one = measure();
    Figures other{};
    std::thread thread([&] { other = measure(); });
    Figures two = measure();
    thread.join();
    for (std::size_t way = 0; way < ways; ++way) {
        two[way] = std::max(two[way], other[way]);
    }
    std::printf("%-24s %5.1f ns; two threads take %4.2f x as long\n", "single-threaded pool", one[single_pool],
                two[single_pool] / one[single_pool]);
    print("rp::create, plain values", values, rust_values, one, two);
    print("rp::create, rp::Object", created, rust_nodes, one, two);
    print("new, rp::autorelease", by_new, rust_nodes, one, two);
    std::printf("%-24s %5.1f ns, %4.2f x as long as a bare atomic\n", "retain and release", one[pair],
                one[pair] / one[bare]);
}
