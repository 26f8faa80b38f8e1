// Objects that end wrongly, one way for each argument: the process aborts, or says what is wrong.
#include "check.h"
#include "releasepool.hpp"
#include <cstring>

static int ended;

struct Node : rp::Object {
    ~Node() override { ++ended; }
    long value = 5;
};

struct Own : rp::Object {
    static void* operator new(std::size_t size) { return ::operator new(size); }
    static void operator delete(void* memory) { ::operator delete(memory); }
};

#if RP_EXCEPTIONS
// Destructors of an rp::Object cannot throw, as that of the base does not.
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
        // The object ends first.
    } else if (!std::strcmp(way, "stack-strong")) {
        rp::Ref<Node> r;
        Node node;
        r = rp::Ref<Node>(&node);
    } else if (!std::strcmp(way, "delete-strong")) {
        Node* node = new Node;
        rp::Ref<Node> r(node);
        delete node;
        // The memory is kept, so that this release does no harm.
        r.reset();
        CHECK(ended == 1);
        return 3;
    } else if (!std::strcmp(way, "own-delete-weak")) {
        rp::Ref<Own> r = rp::adopt(new Own);
        rp::Weak<Own> weak(r);
        r.reset();
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
    } else if (!std::strcmp(way, "null-class")) {
        CHECK(rp_new(nullptr) == nullptr);
        return 3;
    }
    return 0;
}
