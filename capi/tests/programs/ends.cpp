// Objects that end wrongly, one way for each argument: the process aborts, or says what is wrong.
#define RP_COCOS_FIFO
#include "check.h"
#include "releasepool/cocos2d.hpp"
#include <cstring>
#include <memory>
#include <thread>

static int ended;

struct Node : rp::Object {
    ~Node() override { ++ended; }
    long value = 5;
};

struct Own : rp::Object {
    static void* operator new(std::size_t size) { return ::operator new(size); }
    static void operator delete(void* memory) { ::operator delete(memory); }
};

struct Holder {
    Node node;
};

struct Revives : rp::Object {
    ~Revives() override { rp::autorelease(rp::Ref<Revives>(this)); }
    long values[2] = {1, 2};
};

// Makes an object, perhaps in the memory of the revived one. The drain must not release it.
static void check_drain(rp::AutoreleasePool& pool) {
    rp::Ref<Revives> other = rp::make<Revives>();
    CHECK(pool.size() == 1);
    pool.drain();
    CHECK(other->strong_count() == 1);
    static_cast<void>(other.release());
}

// Made before the thread's first call of the library, this thread-local ends after those of the library.
struct AfterTheLibrary {
    ~AfterTheLibrary() {
        rp_class_desc desc = {"plain", 8, 0, 0, nullptr, 0};
        const rp_class* plain = rp_class_new(&desc);
        CHECK(rp_thread_current() == nullptr);
        CHECK(rp_inbox_hook_set([](void*) {}, nullptr) == nullptr);
        CHECK(rp_frame_loop_new(nullptr) == nullptr);
        rp_home* home = rp_home_new(rp_new(plain));
        CHECK(home && rp_home_release(home) == RP_OK);
        rp_handoff* handoff = rp_handoff_new();
        CHECK(rp_handoff_add(handoff, rp_new(plain)) == RP_OK);
        CHECK(rp_handoff_free(handoff) == RP_OK);
        rp_pool_token pool = rp_callback_begin();
        rp_new_autoreleased(plain);
        CHECK(rp_callback_end(pool) == RP_OK);
        CHECK(rp_run_inbox(nullptr) == RP_OK && rp_drain_root(nullptr, nullptr) == RP_OK);
        CHECK(rp_boundary(nullptr, nullptr) == RP_OK);
        ++ended;
    }
};
static thread_local AfterTheLibrary after_the_library;

#if RP_EXCEPTIONS
struct Shared : rp::Object {
    Shared() {
        rp::autorelease(rp::Ref<Shared>(this));
        throw 1;
    }
    long values[2] = {1, 2};
};

// No rp::Object: that base's destructor is noexcept, so those of derived classes cannot throw.
struct Throws {
    ~Throws() noexcept(false) {
        ++ended;
        throw 1;
    }
};
#endif

int main(int, char** arguments) {
    const char* way = arguments[1];
    if (!std::strcmp(way, "stack-weak")) {
        rp::Weak<Node> weak;
        Node node;
        weak = rp::Weak<Node>(&node);
        // `node` ends before `weak`.
    } else if (!std::strcmp(way, "stack-strong")) {
        rp::Ref<Node> r;
        Node node;
        r = rp::Ref<Node>(&node);
    } else if (!std::strcmp(way, "delete-strong")) {
        Node* node = new Node;
        rp::Ref<Node> r(node);
        delete node;
        // The library keeps the memory, so this release does no harm.
        r.reset();
        CHECK(ended == 1);
        return 3;
    } else if (!std::strcmp(way, "own-delete-weak")) {
        rp::Ref<Own> r = rp::adopt(new Own);
        rp::Weak<Own> weak(r);
        r.reset();
    } else if (!std::strcmp(way, "own-delete-by-hand-weak")) {
        Own* own = new Own;
        rp::Weak<Own> weak(own);
        delete own;
    } else if (!std::strcmp(way, "member-weak")) {
        auto holder = std::make_unique<Holder>();
        rp::Weak<Node> weak(&holder->node);
        holder.reset();
    } else if (!std::strcmp(way, "large-member-weak")) {
        struct Large {
            char space[1000];
            Node node;
        };
        // `own` has memory from the library, so a weak reference to its member is fine, even if the
        // block is larger than a Node.
        struct Both : Large, rp::Object {};
        rp::Ref<Both> own = rp::make<Both>();
        rp::Weak<Node> weak(&own->node);
        own.reset();
        CHECK(weak.expired());
        auto large = std::make_unique<Large>();
        weak = rp::Weak<Node>(&large->node);
        large.reset();
    } else if (!std::strcmp(way, "shared-pooled")) {
        rp::AutoreleasePool pool;
        rp::autorelease(rp::Ref<Node>(std::make_shared<Node>().get()));
    } else if (!std::strcmp(way, "static-weak")) {
        alignas(Node) static char place[sizeof(Node)];
        Node* node = ::new (place) Node;
        rp::Weak<Node> weak(node);
        node->~Node();
        CHECK(weak.expired() && !weak.lock());
        return 3;
    } else if (!std::strcmp(way, "revives")) {
        rp::AutoreleasePool pool;
        rp::make<Revives>().reset();
        check_drain(pool);
        return 3;
    } else if (!std::strcmp(way, "revives-new")) {
        rp::AutoreleasePool pool;
        rp::adopt(new Revives).reset();
        check_drain(pool);
        return 3;
    } else if (!std::strcmp(way, "revives-weak")) {
        rp::AutoreleasePool pool;
        for (int kind = 0; kind < 2; ++kind) {
            rp::Ref<Revives> r = kind ? rp::make<Revives>() : rp::adopt(new Revives);
            rp::Weak<Revives> weak(r);
            r.reset();
            CHECK(!weak.lock());
        }
        CHECK(pool.drain() == 2);
        return 3;
    } else if (!std::strcmp(way, "pool-of-another-thread")) {
        auto pool = std::make_unique<cocos2d::AutoreleasePool>();
        std::thread([&pool] { pool.reset(); }).join();
    } else if (!std::strcmp(way, "after-the-library")) {
        std::thread([] {
            static_cast<void>(&after_the_library);
            rp::AutoreleasePool pool;
        }).join();
        CHECK(ended == 1);
        return 3;
#if RP_EXCEPTIONS
    } else if (!std::strcmp(way, "throws-shared")) {
        rp::AutoreleasePool pool;
        try {
            rp::make<Shared>();
        } catch (int) {
            check_drain(pool);
            return 3;
        }
#endif
    } else if (!std::strcmp(way, "own-delete")) {
        rp::adopt(new Own).reset();
        return 3;
#if RP_EXCEPTIONS
    } else if (!std::strcmp(way, "throws")) {
        {
            rp::AutoreleasePool pool;
            rp::create<Throws>();
            rp::create<Node>();
            rp::autorelease(rp::make<Throws>());
        }
        CHECK(ended == 3);
        rp_figures figures;
        rp_snapshot(nullptr, &figures);
        CHECK(figures.live_objects == 0);
        return 3;
#endif
    }
    return 0;
}
