// A program as it is written for axmol 3, with include/releasepool/axmol3 first on the include
// path. cocos.cpp tests what axmol shares with Cocos2d-x, such as pools.
#include "axmol/base/AutoreleasePool.h"
#include "axmol/base/Object.h"
#include "axmol/base/RefPtr.h"
#include "axmol/base/WeakPtr.h"
#include "check.h"
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

// The namespace of the engine's tags, which was axstd once.
#ifndef TAGS
#define TAGS tlx
#endif

using namespace ax;

static std::atomic<int> alive;
static std::string order;

namespace ax {

class Node : public Object {
public:
    explicit Node(int tag = 0) : tag_(tag) { ++alive; }
    ~Node() override { --alive; }
    int getTag() const { return tag_; }
    static Node* create(int tag) {
        Node* const made = new Node(tag);
        made->autorelease();
        return made;
    }
    void scheduled(float seconds) { tag_ = static_cast<int>(seconds); }
    void chosen(Node* node) { tag_ = node->tag_; }
    RefPtr<Node> next; // of a class that is not complete here

private:
    int tag_;
};

} // namespace ax

class Sprite : public Node {};

// Its destructor reads the variable that held it.
static Node* held;
class Held : public Node {
public:
    ~Held() override { CHECK(held != this); }
};

class Interface {
public:
    virtual ~Interface() = default;
    long value = 0;
};

// Logs the steps of its end, and what a weak pointer finds at each.
class Disposed : public Interface, public Node {
public:
    explicit Disposed(WeakPtr<Disposed>* weak = nullptr) : weak_(weak) {}
    ~Disposed() override { order += "end "; }

protected:
    void dispose() override {
        if (weak_ != nullptr && (!weak_->expired() || weak_->lock())) {
            order += "found ";
        }
        order += "dispose ";
        Node::dispose();
    }

private:
    WeakPtr<Disposed>* weak_;
};

static_assert(!std::is_copy_constructible_v<Object> && !std::is_move_constructible_v<Object>);
static_assert(!std::is_copy_assignable_v<Object> && !std::is_move_assignable_v<Object>);
static_assert(!std::is_convertible_v<Node*, RefPtr<Node>> && std::is_constructible_v<RefPtr<Node>, Node*>);
static_assert(!std::is_convertible_v<Node*, WeakPtr<Node>>);
static_assert(std::is_convertible_v<RefPtr<Sprite>, RefPtr<Node>>);
static_assert(std::is_same_v<retain_ptr<Node>, RefPtr<Node>>);
static_assert(std::is_same_v<decltype(std::declval<WeakPtr<Node>>().lock()), RefPtr<Node>>);

static void counts() {
    Node* n = new Node(1);
    CHECK(n->getReferenceCount() == 1);
    n->retain();
    CHECK(n->getReferenceCount() == 2);
    n->release();
    n->release();
    CHECK(alive == 0);
    Node first;
    Sprite second;
    CHECK(first.getObjectID() != 0 && second.getObjectID() > first.getObjectID());
    CHECK(first._ID == first.getObjectID() && first._luaID == 0);
    // A program may copy objects, which the engine allowed before 3.0.
    {
        const Node copy(first);
        ++alive;
        CHECK(copy.getObjectID() > second.getObjectID() && copy.getReferenceCount() == 1);
    }
    // assign counts, adopt takes over.
    Node* target = nullptr;
    n = new Node(2);
    CHECK(Object::assign(target, n) && n->getReferenceCount() == 2 && !Object::assign(target, n));
    CHECK(n->getReferenceCount() == 2 && !Object::adopt(target, n) && n->getReferenceCount() == 2);
    n->release();
    CHECK(Object::adopt(target, new Node(3)) && alive == 3 && target->getReferenceCount() == 1);
    CHECK(Object::assign<Node>(target, nullptr) && target == nullptr && alive == 2);
    held = new Held;
    CHECK(Object::adopt<Node>(held, new Held) && Object::assign<Node>(held, nullptr));
}

static void ref_ptrs() {
    RefPtr<Node> a(new Node(1));
    CHECK(a->getReferenceCount() == 2);
    a->release();
    RefPtr<Node> b(a);
    RefPtr<Node> c(new Node(2), TAGS::adopt_object);
    const RefPtr<Node> d(c.get(), TAGS::retain_object);
    CHECK(c->getReferenceCount() == 2 && c == d);
    b = c;
    b = b.get();
    CHECK(b->getReferenceCount() == 3 && (*b).getTag() == 2);
    b = std::move(c);
    CHECK(!c && b->getReferenceCount() == 2);
    Node* const raw = b.detach();
    CHECK(!b && raw->getReferenceCount() == 2);
    b.reset(raw, TAGS::adopt_object);
    CHECK(raw->getReferenceCount() == 2);
    b.reset(raw, TAGS::retain_object);
    b.reset(raw);
    CHECK(raw->getReferenceCount() == 2);
    Node* const same = b;
    CHECK(same == raw);
    b.swap(a);
    b.reset();
    RefPtr<Sprite> sprite(new Sprite, TAGS::adopt_object);
    b = sprite;
    CHECK(static_pointer_cast<Sprite>(b) == sprite && TAGS::dynamic_pointer_cast<Sprite>(b) == sprite);
    CHECK(TAGS::static_pointer_cast<Node>(sprite) == b);
    CHECK(sprite->getReferenceCount() == 2);
    const RefPtr<const Node> constant = b;
    CHECK(const_pointer_cast<Node>(constant) == b && !dynamic_pointer_cast<Sprite>(a));
    SEL_SCHEDULE const schedule = AX_SCHEDULE_SELECTOR(Node::scheduled);
    SEL_CallFuncN const choose = AX_CALLFUNCN_SELECTOR(Node::chosen);
    Object* const object = a;
    (object->*schedule)(5);
    (static_cast<Object*>(b)->*choose)(a);
    CHECK(b->getTag() == 5);
}

static void weak_ptrs() {
    AutoreleasePool pool;
    WeakPtr<Node> none;
    WeakPtr<Node> null(nullptr);
    CHECK(none.expired() && none == nullptr && none == null && !none && none.get() == nullptr);
    RefPtr<Sprite> sprite(new Sprite, TAGS::adopt_object);
    WeakPtr<Sprite> weak(sprite.get());
    none = sprite.get();
    null = none;
    CHECK(weak != nullptr && weak == sprite.get() && weak != Node::create(1) && none == weak);
    CHECK(weak && weak.lock() == sprite && weak->getTag() == 0);
    CHECK((*weak).getReferenceCount() == 1);
    const WeakPtr<Node> moved(std::move(null));
    CHECK(moved == weak && !null);
    null = nullptr;
    CHECK(sprite->getReferenceCount() == 1);
    sprite.reset();
    CHECK(weak.expired() && weak == nullptr && !weak.lock() && moved == null);
    weak.reset();
    // A `delete` by hand, too, clears weak pointers.
    auto* const deleted = new Sprite;
    weak = deleted;
    delete deleted;
    CHECK(weak.expired());
}

// dispose runs before the destructor, when weak pointers find nothing, however the object was made.
static void disposes() {
    order.clear();
    auto* n = new Disposed;
    n->retain();
    n->release();
    CHECK(order.empty());
    n->release();
    CHECK(order == "dispose end ");
    WeakPtr<Disposed> weak;
    n = new (std::nothrow) Disposed(&weak);
    weak = n;
    order.clear();
    n->release();
    CHECK(order == "dispose end ");
    order.clear();
    {
        rp::Ref<Disposed> made = rp::make<Disposed>(&weak);
        weak = made.get();
        const RefPtr<Object> kept(made.get());
        made.reset();
        CHECK(order.empty() && !weak.expired());
    }
    CHECK(order == "dispose end " && weak.expired());
    order.clear();
    {
        rp::AutoreleasePool pool;
        weak = rp::create<Disposed>(&weak);
        CHECK(!weak.expired());
    }
    CHECK(order == "dispose end ");
    order.clear();
    delete new Disposed;
    { Disposed on_the_stack; }
    CHECK(order == "end end " && alive == 0);
}

// Two threads share an object and lock a weak pointer to it; each has its pools, and numbers of its own.
static void threads() {
    const int before = alive;
    RefPtr<Node> shared(new Node(7), TAGS::adopt_object);
    const WeakPtr<Node> weak(shared.get());
    std::vector<std::uint64_t> ids[2];
    const auto work = [&](int which) {
        for (int i = 0; i < 20000; ++i) {
            AutoreleasePool pool;
            const RefPtr<Node> mine = weak.lock();
            CHECK(!mine || mine->getTag() == 7);
            if (mine) {
                mine->retain();
                mine->autorelease();
            }
            ids[which].push_back(Node::create(i)->getObjectID());
        }
        Node::create(1);
        CHECK(PoolManager::getInstance()->getCurrentPool() != nullptr);
        Node::create(2);
    };
    std::thread one(work, 0);
    std::thread two(work, 1);
    shared.reset();
    one.join();
    two.join();
    CHECK(alive == before && weak.expired());
    std::set<std::uint64_t> all(ids[0].begin(), ids[0].end());
    all.insert(ids[1].begin(), ids[1].end());
    CHECK(all.size() == ids[0].size() + ids[1].size());
}

int main() {
    counts();
    ref_ptrs();
    CHECK(alive == 0);
    weak_ptrs();
    CHECK(alive == 0);
    disposes();
    threads();
    PoolManager::destroyInstance();
    CHECK(alive == 0);
    Object::printLeaks();
    return 0;
}
