// The crash that this library prevents. A render thread clears the autorelease pool in every frame;
// an SDK calls back on a thread of its own, where the program builds a graph of dictionaries,
// autoreleases it, and hands it to the render thread.
//
//     crash single ROUNDS    with a single-threaded pool, as Cocos2d-x has it: crashes, or finds damage
//     crash ours ROUNDS      with releasepool: succeeds
#include "check.h"
#include "releasepool/cocos2d.hpp"
#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

// Objects, pool and manager as in Cocos2d-x 3: the count is plain, and all threads have one pool.
namespace single {

class Ref;

class Pool {
public:
    Pool() { entries_.reserve(150); }
    void addObject(Ref* object) { entries_.push_back(object); }
    void clear();

private:
    std::vector<Ref*> entries_;
};

inline Pool& current() {
    static Pool pool;
    return pool;
}

class Ref {
public:
    virtual ~Ref() = default;
    void retain() { ++count_; }
    void release() {
        if (--count_ == 0) {
            delete this;
        }
    }
    Ref* autorelease() {
        current().addObject(this);
        return this;
    }

private:
    unsigned int count_ = 1;
};

inline void Pool::clear() {
    std::vector<Ref*> releasing;
    releasing.swap(entries_);
    for (Ref* object : releasing) {
        object->release();
    }
}

} // namespace single

// What the two libraries differ in: the base class, and how a frame and a callback end.
struct Single {
    using Base = single::Ref;
    static void clear() { single::current().clear(); }
    struct Callback {};
};
struct Ours {
    using Base = cocos2d::Ref;
    static void clear() { cocos2d::PoolManager::getInstance()->getCurrentPool()->clear(); }
    using Callback = rp::CallbackScope;
};

static std::atomic<long> alive{0};

static constexpr std::uintptr_t intact = static_cast<std::uintptr_t>(0x600dcafe600dcafe);

[[noreturn]] static void damaged() {
    std::fprintf(stderr, "damaged: an object was used after its end\n");
    std::_Exit(9);
}

// A dictionary, or a leaf.
template <class World> class Value : public World::Base {
public:
    Value() { ++alive; }
    ~Value() override {
        if (mark_ != intact) {
            damaged();
        }
        mark_ = 0;
        for (auto& entry : entries_) {
            entry.second->release();
        }
        --alive;
    }
    static Value* create() {
        Value* made = new Value;
        made->autorelease();
        return made;
    }
    void set(const std::string& key, Value* value) {
        value->retain();
        if (!entries_.emplace(key, value).second) {
            damaged();
        }
    }
    std::size_t size() const {
        if (mark_ != intact) {
            damaged();
        }
        std::size_t sum = 1;
        for (const auto& entry : entries_) {
            sum += entry.second->size();
        }
        return sum;
    }

private:
    std::uintptr_t mark_ = intact;
    std::map<std::string, Value*> entries_;
};

// The latest answer, with a reference to it.
template <class World> static std::atomic<Value<World>*> latest{nullptr};

// The SDK's callback: makes an answer of 1 + 3 * (1 + 2) dictionaries, and hands it over.
template <class World> static void callback() {
    typename World::Callback scope;
    static_cast<void>(scope);
    Value<World>* answer = Value<World>::create();
    for (const char* key : {"user", "friends", "scores"}) {
        Value<World>* part = Value<World>::create();
        part->set("id", Value<World>::create());
        part->set("name", Value<World>::create());
        answer->set(key, part);
    }
    if (answer->size() != 10) {
        damaged();
    }
    // Either thread may make the last release.
    answer->retain();
    if (Value<World>* const missed = latest<World>.exchange(answer, std::memory_order_acq_rel)) {
        missed->release();
    }
}

// Checks the latest answer on the render thread, and releases it.
template <class World> static void show() {
    if (Value<World>* const answer = latest<World>.exchange(nullptr, std::memory_order_acq_rel)) {
        if (answer->size() != 10) {
            damaged();
        }
        answer->release();
    }
}

template <class World> static int play(long rounds) {
    std::atomic<bool> stop{false};
    std::thread render([&] {
        while (!stop) {
            Value<World>* sprite = Value<World>::create();
            if (sprite->size() != 1) {
                damaged();
            }
            show<World>();
            World::clear();
        }
        show<World>();
    });
    std::thread sdk([rounds] {
        for (long i = 0; i < rounds; ++i) {
            callback<World>();
        }
    });
    sdk.join();
    stop = true;
    render.join();
    World::clear();
    if (alive != 0) {
        std::fprintf(stderr, "damaged: %ld objects are left\n", alive.load());
        return 9;
    }
    return 0;
}

int main(int count, char** arguments) {
    CHECK(count == 3);
    const long rounds = std::atol(arguments[2]);
    return std::strcmp(arguments[1], "single") == 0 ? play<Single>(rounds) : play<Ours>(rounds);
}
