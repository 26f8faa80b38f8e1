// Pools that a longjmp leaves open, and pools in the destructor of a static, after the library's own end.
#include "check.h"
#include "releasepool/cocos2d.hpp"
#include <csetjmp>
#include <cstring>

using namespace cocos2d;

static long alive = 0;

class Scoped : public Ref {
public:
    static Scoped* create() {
        auto* made = new Scoped();
        made->autorelease();
        return made;
    }
    Scoped() { ++alive; }
    ~Scoped() override { --alive; }
};

struct Plain : rp::Object {
    Plain() { ++alive; }
    ~Plain() override { --alive; }
};

static jmp_buf protected_call;

// A binding of a script engine: its error jumps over the pool, whose destructor does not run.
[[gnu::noinline]] static void binding(int way) {
    if (way == 0) {
        rp::AutoreleasePool pool("binding");
        rp::create<Plain>();
        std::longjmp(protected_call, 1);
    } else if (way == 1) {
        AutoreleasePool pool("binding");
        Scoped::create();
        std::longjmp(protected_call, 1);
    }
    rp_pool_push();
    rp::create<Plain>();
    std::longjmp(protected_call, 1);
}

static void errors(void*) {
    for (volatile int way = 0; way < 3; ++way) {
        if (setjmp(protected_call) == 0) {
            binding(way);
        }
        // This object goes into the pool that was jumped over; the scope around that pool ends
        // both.
        rp::create<Plain>();
    }
    CHECK(alive == 6);
}

static void jump_over_pools() {
    rp_frame_loop* loop = rp_frame_loop_new(nullptr);
    for (int turn = 0; turn < 2000; ++turn) {
        rp_pool_token token = rp_pool_push();
        errors(nullptr);
        CHECK(rp_pool_pop(token, nullptr) == RP_OK && alive == 0);
        token = rp_callback_begin();
        errors(nullptr);
        CHECK(rp_callback_end(token) == RP_OK && alive == 0);
        CHECK(rp_frame_loop_tick(loop, errors, nullptr, nullptr) == RP_OK && alive == 0);
    }
    CHECK(rp_frame_loop_free(loop) == RP_OK);
}

// A pool in place keeps its entries when others around it are closed, and ends with the scope.
static void overlap() {
    auto* a = new rp::AutoreleasePool("a");
    auto* b = new rp::AutoreleasePool("b");
    rp::create<Plain>();
    delete a;
    CHECK(alive == 1 && b->size() == 1);
    rp::create<Plain>();
    CHECK(b->size() == 2);
    delete b;
    CHECK(alive == 0);
    rp_pool_token token = rp_pool_push();
    a = new rp::AutoreleasePool("in a scope");
    rp::create<Plain>();
    CHECK(rp_pool_pop(token, nullptr) == RP_OK && alive == 0);
    CHECK(rp_pool_drain(a->to_c(), nullptr) == RP_STALE);
    CHECK(std::strstr(rp_last_error(), "the scope around it has closed it"));
    delete a;
}

// A drain of a pool in place is a scope, too.
struct Leaves : rp::Object {
    ~Leaves() override {
        rp_pool_push();
        rp::create<Plain>();
    }
};

static void left_by_a_destructor() {
    rp::AutoreleasePool pool;
    rp::create<Leaves>();
    CHECK(pool.drain() == 1 && alive == 0);
    rp::create<Plain>();
    CHECK(pool.size() == 1);
}

// This static ends after the main thread's use of the library.
struct Director {
    ~Director() {
        CHECK(rp_thread_current() == nullptr);
        {
            AutoreleasePool pool("the destructor's own");
            Scoped* node = Scoped::create();
            CHECK(alive == 1 && pool.contains(node));
            rp::create<Plain>();
            CHECK(alive == 2);
            pool.addObject(new Scoped);
            CHECK(alive == 3 && PoolManager::getInstance()->getCurrentPool() == &pool);
            rp::AutoreleasePool inner;
            Scoped::create();
            CHECK(alive == 4 && inner.size() == 1);
        }
        CHECK(alive == 0);
        const rp_pool_token token = rp_pool_push();
        Scoped::create();
        CHECK(alive == 1);
        CHECK(rp_pool_pop(token, nullptr) == RP_OK && alive == 0);
        // No pool is open, so the object dies at once.
        (new Scoped)->autorelease();
        CHECK(alive == 0);
    }
};
static Director director;

int main() {
    rp_set_event_hook([](const char*, void*) {}, nullptr);
    overlap();
    left_by_a_destructor();
    jump_over_pools();
    return 0;
}
