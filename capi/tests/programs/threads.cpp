// Eight threads share objects, hand them on and die; thread-locals release after the library's own end.
#include "check.h"
#include "releasepool.hpp"
#include <atomic>
#include <thread>
#include <vector>

static std::atomic<int> alive{0};

struct Node : rp::Object {
    explicit Node(long value_ = 0) : value(value_) { ++alive; }
    ~Node() override {
        CHECK(value == check);
        value = -1;
        --alive;
    }
    long value;
    long check = value;
    rp::Ref<Node> next;
};

static constexpr int threads = 8;
static constexpr int rounds = 3000;

template <class F> static void on_all(F f) {
    std::vector<std::thread> all;
    for (int n = 0; n < threads; ++n) {
        all.emplace_back([n, &f] { f(n); });
    }
    for (std::thread& thread : all) {
        thread.join();
    }
}

// All threads retain, release and autorelease one object.
static void shared() {
    rp::Ref<Node> common = rp::make<Node>(1);
    rp::Weak<Node> weak(common);
    on_all([&](int) {
        for (int i = 0; i < rounds; ++i) {
            rp::AutoreleasePool pool;
            rp::Ref<Node> own = common;
            rp::autorelease(own);
            rp::Ref<Node> locked = weak.lock();
            CHECK(locked && locked->value == 1);
        }
    });
    CHECK(common->strong_count() == 1);
}

// Any of the threads drops the last reference, while the others lock weak ones.
static void last_ones() {
    for (int i = 0; i < rounds / 30; ++i) {
        rp::Ref<Node> first = rp::make<Node>(i);
        rp::Weak<Node> weak(first);
        std::vector<rp::Ref<Node>> each(threads, first);
        first.reset();
        on_all([&](int n) {
            rp::Ref<Node> locked = weak.lock();
            if (locked) {
                CHECK(locked->value == i);
            }
            each[static_cast<std::size_t>(n)].reset();
        });
        CHECK(!weak.lock());
    }
}

// Each thread autoreleases graphs while all clear their pools: the crash of single-threaded pools.
static void pools() {
    on_all([](int n) {
        rp::AutoreleasePool frame;
        for (int i = 0; i < rounds; ++i) {
            Node* root = rp::create<Node>(n);
            root->next = rp::make<Node>(i);
            rp::Ref<Node> kept(root);
            frame.drain();
            CHECK(kept->next->value == i);
        }
    });
}

static void slots() {
    rp::Slot<Node> slot(rp::make<Node>(0));
    on_all([&](int n) {
        rp::AutoreleasePool pool;
        for (int i = 0; i < rounds / 10; ++i) {
            if (n < 2) {
                slot.store(rp::make<Node>(i));
            } else {
                CHECK(slot.load()->value >= 0);
                CHECK(slot.load(pool)->value >= 0);
            }
            pool.drain();
        }
    });
}

// A thread that serves its inbox.
struct Server {
    std::atomic<bool> stop{false};
    std::atomic<const rp::Thread*> handle{nullptr};
    std::thread thread{[this] {
        const rp::Thread own = rp::Thread::current();
        handle = &own;
        while (!stop) {
            rp::run_inbox();
            std::this_thread::yield();
        }
        rp::run_inbox();
    }};
    const rp::Thread& to() {
        while (handle == nullptr) {
            std::this_thread::yield();
        }
        return *handle;
    }
    ~Server() {
        stop = true;
        thread.join();
    }
};

static void messages() {
    std::atomic<int> ran{0};
    {
        Server server;
        const rp::Thread to = server.to();
        on_all([&](int) {
            for (int i = 0; i < rounds / 10; ++i) {
                to.release(rp::make<Node>(i));
                CHECK(to.post([&ran, kept = rp::make<Node>(i)] { ran += kept->value >= 0 ? 1 : 0; }));
            }
        });
        CHECK(to.is_alive());
    }
    CHECK(ran == threads * (rounds / 10));
}

static void homes() {
    struct Home : rp::Object {
        std::thread::id made = std::this_thread::get_id();
        ~Home() override { CHECK(made == std::this_thread::get_id()); }
    };
    rp::HomeRef<Home> home(rp::make<Home>());
    CHECK(home && home.get());
    on_all([&](int) {
        rp::HomeRef<Home> copy = home;
        CHECK(copy && !copy.get());
    });
    rp::HomeRef<Home> moved = std::move(home);
    std::thread([last = std::move(moved)]() mutable { last = rp::HomeRef<Home>(); }).join();
    rp::run_inbox();
}

// Destructors of thread-locals run in any order: these release and autorelease before or after the library's
// own thread-locals are gone.
struct AtEnd {
    rp::Ref<Node> node;
    ~AtEnd() {
        rp::autorelease(rp::Ref<Node>(node));
        rp::autorelease(rp::make<Node>(9));
        rp::AutoreleasePool pool;
        rp::create<Node>(10);
        node.reset();
    }
};
static thread_local AtEnd before;
static thread_local AtEnd after;

static void ends_of_threads() {
    on_all([](int n) {
        before.node = rp::make<Node>(n);
        rp::autorelease(rp::make<Node>(n));
        after.node = rp::make<Node>(n);
        {
            rp::AutoreleasePool pool;
            rp::create<Node>(n);
        }
    });
}

static void ignore(const char*, void*) {}

int main() {
    rp_set_event_hook(ignore, nullptr);
    shared();
    last_ones();
    pools();
    slots();
    messages();
    homes();
    ends_of_threads();
    CHECK(rp_quiesce(nullptr, 5000000000) == RP_OK);
    CHECK(alive == 0);
    rp_figures figures;
    CHECK(rp_snapshot(nullptr, &figures) == RP_OK && figures.created == figures.destroyed);
    return 0;
}
