// A program as it is written for Cocos2d-x: RefPtr, Vector, Map, pools, macros, and defects that
// are fixed here. With RP_AXMOL, a program for axmol 2.
#ifdef RP_AXMOL
#include "releasepool/axmol.hpp"
#define cocos2d ax
using Base = ax::Object;
#else
#include "releasepool/cocos2d.hpp"
using Base = cocos2d::Ref;
#endif
#include "check.h"
#include <set>
#include <string>
#include <thread>
#include <unordered_set>

using namespace cocos2d;

static int alive;
static std::string order;

namespace cocos2d {

// A class that the headers only declare.
class Node : public Base {
public:
    CREATE_FUNC(Node)
    NODE_FUNC(Node)
    Node() : child_(nullptr) { ++alive; }
    Node(const Node& other) : Base(other), child_(nullptr), tag_(other.tag_) { ++alive; }
    Node& operator=(const Node& other) {
        tag_ = other.tag_;
        return *this;
    }
    ~Node() override {
        --alive;
        order += std::to_string(tag_) + ' ';
        CC_SAFE_RELEASE(child_);
    }
    virtual bool init() { return true; }
    void setTag(int tag) { tag_ = tag; }
    int getTag() const { return tag_; }
    static Node* tagged(int tag) {
        Node* made = create();
        made->setTag(tag);
        return made;
    }
    RefPtr<Node> next; // of a class that is not complete here
    CC_SYNTHESIZE_RETAIN(Node*, child_, Child)

private:
    int tag_ = 0;
};

} // namespace cocos2d

class Sprite : public Node {
public:
    static Sprite* create() {
        Sprite* made = new (std::nothrow) Sprite();
        made->autorelease();
        return made;
    }
};

class Fails : public Node {
public:
    CREATE_FUNC(Fails)
    bool init() override { return false; }
};

class Copied : public Base, public Clonable {
public:
    Copied* clone() const override { return new Copied(*this); }
};

// Autoreleases another object when it dies.
class Sender : public Node {
public:
    ~Sender() override { Node::tagged(77); }
};

static Node* node(int tag = 0) {
    Node* made = new Node;
    made->setTag(tag);
    return made;
}

// A correct program gets no warning: the main thread's pool opens by itself, but not where a callback has one. On
// another thread, an object without a pool is reported, by the name of its class.
static void warnings() {
    static std::string text;
    CHECK(rp_set_event_hook([](const char* part, void*) { text += part; }, nullptr) == RP_OK);
    {
        rp::CallbackScope callback;
        Node::create();
        CHECK(alive == 1);
    }
    CHECK(alive == 0 && rp_is_without_pool());
    Node* const n = Node::create();
    CHECK(text.empty() && PoolManager::getInstance()->getCurrentPool()->contains(n));
    std::thread([] { Sprite::create(); }).join();
    CHECK(text.find(RP_TABLE_NAMES ? "Sprite autoreleased without a pool" : "rp::Object") != std::string::npos);
    CHECK(rp_set_event_hook(nullptr, nullptr) == RP_OK);
    PoolManager::getInstance()->getCurrentPool()->clear();
    CHECK(alive == 0);
}

static void counts() {
    Node* n = node();
    CHECK(n->getReferenceCount() == 1);
    n->retain();
    CHECK(n->getReferenceCount() == 2);
    n->release();
    n->retain();
    Node copy(*n);
    CHECK(copy.getReferenceCount() == 1 && n->getReferenceCount() == 2);
    copy = *n;
    CHECK(copy.getReferenceCount() == 1);
    n->release();
    CHECK(n->autorelease() == n && n->getReferenceCount() == 1);
    CHECK(PoolManager::getInstance()->isObjectInPools(n));
    PoolManager::getInstance()->getCurrentPool()->clear();
    CHECK(alive == 1);
    CHECK(Fails::create() == nullptr && alive == 1);
    Copied original;
    Copied* other = original.clone();
    CHECK(other->getReferenceCount() == 1);
    delete other;
    Node* parent = node();
    Node* child = node();
    parent->setChild(child);
    parent->setChild(child);
    CHECK(child->getReferenceCount() == 2);
    CC_SAFE_RELEASE_NULL(child);
    CHECK(child == nullptr && parent->getChild()->getReferenceCount() == 1);
    CC_SAFE_DELETE(parent);
    CHECK(alive == 1);
}

static void ref_ptrs() {
    AutoreleasePool pool;
    RefPtr<Node> empty;
    RefPtr<Node> null(nullptr);
    CHECK(!empty && empty == nullptr && nullptr == null && empty == null && empty.get() == nullptr);
    RefPtr<Node> a = node(1);
    CHECK(a->getReferenceCount() == 2);
    a->release();
    RefPtr<Node> b(a);
    CHECK(a == b && a.get() == b && b == a.get() && !(a != b) && a <= b && a >= b && !(a < b) && !(a > b));
    CHECK(a->getReferenceCount() == 2 && (*a).getTag() == 1);
    const Node* constant = a;
    Node* raw = a;
    CHECK(a == constant && raw == a && a != nullptr && a > nullptr && !(a < nullptr));
    RefPtr<Node> c(std::move(b));
    CHECK(!b && c->getReferenceCount() == 2);
    RefPtr<Node>& same = c;
    c = same;
    c = std::move(same);
    CHECK(c && c->getReferenceCount() == 2);
    c = nullptr;
    c = raw;
    c = c.get();
    CHECK(c->getReferenceCount() == 2);
    c.reset();
    c.swap(a);
    CHECK(!a && c->getReferenceCount() == 1);
    c.weakAssign(node(2));
    CHECK(c->getReferenceCount() == 1 && c->getTag() == 2);
    a.weakAssign(c);
    CHECK(a->getReferenceCount() == 2);
    a.reset();
    CHECK(c->getReferenceCount() == 1);
    RefPtr<Sprite> sprite = Sprite::create();
    RefPtr<Node> as_node = sprite;
    as_node = sprite;
    CHECK(as_node == sprite && as_node == sprite.get() && sprite->getReferenceCount() == 3);
    CHECK(static_pointer_cast<Sprite>(as_node) == sprite && dynamic_pointer_cast<Sprite>(as_node) == sprite);
    CHECK(dynamic_pointer_cast<Sprite>(c) == nullptr);
    CHECK(makeRef<Node>()->getReferenceCount() == 1);
    std::unordered_set<RefPtr<Node>> hashed{c, as_node, c};
    std::set<RefPtr<Node>> sorted{c, as_node, c};
    CHECK(hashed.size() == 2 && sorted.size() == 2);
    // p = p->next
    RefPtr<Node> list;
    for (int i = 0; i < 3; ++i) {
        RefPtr<Node> first = makeRef<Node>();
        first->next = list;
        list = first;
    }
    while (list) {
        list = list->next;
    }
    WeakPtr<Node> weak(c);
    WeakPtr<Node> other(c.get());
    CHECK(weak == other && weak.lock() == c && !weak.expired() && weak->getTag() == 2 && weak && weak.get() == c);
    CHECK(c->getReferenceCount() == 3);
    hashed.clear();
    sorted.clear();
    c.reset();
    CHECK(weak.expired() && !weak && !weak.lock() && weak.get() == nullptr);
    // A `delete` by hand clears weak pointers, too.
    Node* deleted = node();
    other = deleted;
    delete deleted;
    CHECK(other.expired() && !other.lock());
    other.reset();
}

static void pools() {
    const int before = alive;
    {
        AutoreleasePool pool("outer");
        CHECK(PoolManager::getInstance()->getCurrentPool() == &pool && !pool.isClearing());
        Node* first = Node::tagged(1);
        Node::tagged(2);
        Node::tagged(3);
        CHECK(pool.contains(first) && PoolManager::getInstance()->isObjectInPools(first));
        {
            AutoreleasePool inner;
            Node* n = Node::tagged(9);
            CHECK(inner.contains(n) && !pool.contains(n) && inner.contains(n));
            n->retain();
            inner.addObject(n);
            CHECK(n->getReferenceCount() == 2);
        }
        CHECK(alive == before + 3);
        order.clear();
        pool.clear();
#ifdef RP_COCOS_FIFO
        CHECK(order == "1 2 3 ");
#else
        CHECK(order == "3 2 1 ");
#endif
        (new Sender)->autorelease();
        pool.dump();
        pool.clear();
        CHECK(alive == before);
        (new Sender)->autorelease();
    }
    CHECK(alive == before);
    // Pools on the heap, ended out of order.
    auto* a = new AutoreleasePool("a");
    auto* b = new AutoreleasePool("b");
    Node::tagged(1);
    delete a;
    CHECK(alive == before + 1 && PoolManager::getInstance()->getCurrentPool() == b);
    delete b;
    CHECK(alive == before);
    // A stack pool outlives the manager.
    AutoreleasePool pool;
    Node::tagged(1);
    PoolManager::destroyInstance();
    CHECK(alive == before + 1 && PoolManager::getInstance()->getCurrentPool() == &pool);
}

class Owner : public Node {
public:
    static Vector<Node*>* vector;
    // Clears the vector that is being cleared.
    ~Owner() override { vector->clear(); }
};
Vector<Node*>* Owner::vector;

static void vectors() {
    const int before = alive;
    {
        AutoreleasePool pool;
        Vector<Node*> v;
        CHECK(v.empty() && v.size() == 0 && v.getRandomObject() == nullptr);
        v.reserve(10);
        CHECK(v.capacity() >= 10);
        for (int i = 0; i < 5; ++i) {
            v.pushBack(Node::tagged(i));
            CHECK(v.back()->getReferenceCount() == 2);
        }
        CHECK(v.size() == 5 && v.front()->getTag() == 0 && v.at(2)->getTag() == 2 && v[3]->getTag() == 3);
        CHECK(v.getIndex(v.at(4)) == 4 && v.contains(v.at(1)) && v.find(v.at(1)) == v.begin() + 1);
        CHECK(v.getIndex(Node::create()) == -1 && v.getRandomObject() != nullptr);
        Vector<Node*> copy(v);
        CHECK(copy.equals(v) && v.at(0)->getReferenceCount() == 3);
        Vector<Node*> moved(std::move(copy));
        CHECK(copy.empty() && moved.at(0)->getReferenceCount() == 3);
        moved = moved;
        moved = Vector<Node*>{v.at(0), v.at(1)};
        CHECK(moved.size() == 2 && v.at(0)->getReferenceCount() == 3 && v.at(2)->getReferenceCount() == 2);
        moved.pushBack(moved);
        CHECK(moved.size() == 4);
        moved.eraseObject(v.at(0));
        CHECK(moved.size() == 3);
        moved.eraseObject(v.at(1), true);
        CHECK(moved.size() == 1);
        moved.insert(0, v.at(3));
        moved.swap(std::ptrdiff_t{0}, std::ptrdiff_t{1});
        CHECK(moved.back() == v.at(3));
        moved.swap(v.at(3), v.at(0));
        CHECK(moved.front() == v.at(3));
        moved.reverse();
        moved.popBack();
        moved.shrinkToFit();
        CHECK(moved.size() == 1);
        CHECK(v.erase(v.begin()) == v.begin() && v.size() == 4);
        v.erase(v.begin(), v.begin() + 2);
        v.erase(std::ptrdiff_t{0});
        CHECK(v.size() == 1 && v.front()->getTag() == 4);
        int sum = 0;
        for (Node* each : v) {
            sum += each->getTag();
        }
        CHECK(sum == 4);
        for (auto at = v.rbegin(); at != v.rend(); ++at) {
            sum += (*at)->getTag();
        }
        CHECK(sum == 8);
        // Replaces an object by itself where the vector is its sole owner.
        pool.clear();
        v.replace(0, v.at(0));
        CHECK(v.at(0)->getReferenceCount() == 1);
    }
    CHECK(alive == before);
    {
        Vector<Node*> v;
        Owner::vector = &v;
        for (int i = 0; i < 3; ++i) {
            Node* owner = new Owner;
            v.pushBack(owner);
            owner->release();
        }
        v.clear();
        CHECK(v.empty() && alive == before);
        for (int i = 0; i < 3; ++i) {
            Node* owner = new Owner;
            v.pushBack(owner);
            owner->release();
        }
        v.erase(v.begin());
        CHECK(v.empty() && alive == before);
    }
}

static void maps() {
    const int before = alive;
    {
        AutoreleasePool pool;
        Map<std::string, Node*> m;
        CHECK(m.empty() && m.at("none") == nullptr && m.getRandomObject() == nullptr);
        for (int i = 0; i < 5; ++i) {
            m.insert(std::to_string(i), Node::tagged(i));
        }
        CHECK(m.size() == 5 && m.at("3")->getTag() == 3 && m.at("3")->getReferenceCount() == 2);
        CHECK(m.at(std::string_view("3")) == m.at("3") && m.find(std::string_view("9")) == m.end());
        m.insert("3", m.at("3"));
        CHECK(m.at("3")->getReferenceCount() == 2);
        Node* third = m.at("3");
        m.insert("3", m.at("4"));
        CHECK(third->getReferenceCount() == 1 && m.keys(m.at("4")).size() == 2 && m.keys().size() == 5);
        Map<std::string, Node*> copy(m);
        CHECK(m.at("0")->getReferenceCount() == 3);
        Map<std::string, Node*> moved(std::move(copy));
        copy = moved;
        copy = copy;
        moved = std::move(copy);
        CHECK(moved.size() == 5 && m.at("0")->getReferenceCount() == 3);
        CHECK(moved.erase("0") == 1 && moved.erase("0") == 0 && moved.size() == 4);
        moved.erase(std::vector<std::string>{"1", "2"});
        moved.erase(moved.find("3"));
        CHECK(moved.size() == 1 && moved.getRandomObject()->getTag() == 4);
        moved.clear();
        m.reserve(100);
        CHECK(moved.empty() && m.bucketCount() >= 100 && m.bucketSize(0) <= 5 && m.bucket("1") < m.bucketCount());
        int n = 0;
        for (const auto& entry : m) {
            n += entry.second->getTag() >= 0 ? 1 : 0;
        }
        CHECK(n == 5 && m.begin() != m.end() && m.cbegin() != m.cend());
    }
    CHECK(alive == before);
}

class Clears : public Node {
public:
    static Map<int, Node*>* map;
    bool is_erased = false;
    ~Clears() override {
        if (is_erased) {
            map->clear();
        }
    }
};
Map<int, Node*>* Clears::map;

// Adds to the vector that ends.
class Adds : public Node {
public:
    Vector<Node*>* to = nullptr;
    ~Adds() override {
        Node* added = new Node;
        to->pushBack(added);
        added->release();
    }
};

class Interface {
public:
    virtual ~Interface() = default;
    long value = 0;
};
class Implements : public Interface, public Node {};

class Scheduled : public Node {
public:
    void scheduled(float seconds) { setTag(static_cast<int>(seconds)); }
    void chosen(Base* sender) { setTag(sender == this ? 2 : 0); }
};

// Clears the pool that is being cleared.
class ClearsPool : public Node {
public:
    ~ClearsPool() override { PoolManager::getInstance()->getCurrentPool()->clear(); }
};

static void engine_code() {
    const int before = alive;
    {
        Map<int, Node*> m;
        Clears::map = &m;
        for (int i = 0; i < 10; ++i) {
            auto* node = new Clears;
            node->is_erased = true;
            m.insert(i, node);
            node->release();
        }
        for (auto at = m.begin(); at != m.end();) {
            at = m.erase(at);
        }
        CHECK(m.empty() && alive == before);
        for (int i = 0; i < 10; ++i) {
            Node* node = new Node;
            m.insert(i, node);
            node->release();
        }
        int erased = 0;
        for (auto at = m.begin(); at != m.end(); ++erased) {
            at = m.erase(at);
        }
        CHECK(erased == 10);
        StringMap<Node*> named;
        AutoreleasePool pool;
        named.insert(std::string_view("a"), Node::create());
        const StringMap<Node*>& constant = named;
        CHECK(constant.find(std::string_view("a")) != constant.end() && named.erase(std::string_view("a")) == 1);
        Vector<Node*> v;
        auto* adds = new Adds;
        adds->to = &v;
        v.pushBack(adds);
        adds->release();
    }
    CHECK(alive == before);
    RefPtr<Implements> implements = makeRef<Implements>();
    RefPtr<Base> base = implements;
    Base* raw = implements;
    Interface* interface = implements;
    CHECK(implements == base && implements == raw && raw == implements && !(implements < base) && base == raw);
    CHECK(implements == interface && interface == implements && !(base != implements));
    CHECK(std::hash<RefPtr<Base>>()(base) == std::hash<RefPtr<Implements>>()(implements));
    RefPtr<Node> node;
    node.weakAssign(implements);
    CHECK(node == implements && implements->getReferenceCount() == 3);
    node.weakAssign(RefPtr<Implements>(implements));
    node.weakAssign({});
    CHECK(!node);
    node = raw == nullptr ? nullptr : implements.get();
    node = {};
    CHECK(!node && implements->getReferenceCount() == 2);
    WeakPtr<Node> weak(implements);
    WeakPtr<Implements> of_class;
    of_class = implements;
    weak = implements;
    const WeakPtr<Node> other(of_class);
    CHECK(weak == other && weak.lock() == implements);
    SEL_SCHEDULE const schedule = CC_SCHEDULE_SELECTOR(Scheduled::scheduled);
    SEL_MenuHandler const menu = menu_selector(Scheduled::chosen);
    RefPtr<Scheduled> scheduled = makeRef<Scheduled>();
    Base* const target = scheduled;
    (target->*schedule)(1);
    CHECK(scheduled->getTag() == 1);
    (target->*menu)(target);
    CHECK(scheduled->getTag() == 2);
    scheduled = nullptr;
    base = nullptr;
    implements = nullptr;
    Node* nodes = new (std::nothrow) Node[3];
    CC_SAFE_DELETE_ARRAY(nodes);
    CHECK(alive == before);
    PoolManager* const manager = PoolManager::getInstance();
    CHECK(!manager->isObjectInPools(nullptr) && !manager->getCurrentPool()->contains(nullptr));
    AutoreleasePool pool;
    for (int i = 0; i < 5; ++i) {
        (new ClearsPool)->autorelease();
    }
    pool.clear();
    CHECK(alive == before && !pool.isClearing());
}

// The end of a callback releases what it has autoreleased, and what its thread has before it.
static void callbacks() {
    const int before = alive;
    std::thread([before] {
        Node::create();
        {
            rp::CallbackScope scope;
            Node::create();
            CHECK(alive == before + 2);
        }
        CHECK(alive == before);
        Node::create();
        rp_drain_root(nullptr, nullptr);
        CHECK(alive == before);
        // The pool that a main loop clears stands for the library's root pool, too.
        Node* first = rp::create<Node>();
        AutoreleasePool* const root = PoolManager::getInstance()->getCurrentPool();
        CHECK(root->contains(first) && PoolManager::getInstance()->isObjectInPools(first));
        Node::create();
        root->clear();
        CHECK(alive == before);
        rp::create<Node>();
        PoolManager::destroyInstance();
        CHECK(alive == before);
    }).join();
}

static void threads() {
    const int before = alive;
    // A thread without a pool has a root pool, which is cleared at its end.
    std::thread([] {
        Node::tagged(1);
        CHECK(PoolManager::getInstance()->getCurrentPool() != nullptr);
        (new Sender)->autorelease();
    }).join();
    CHECK(alive == before);
    AutoreleasePool* const own = PoolManager::getInstance()->getCurrentPool();
    std::thread([own] { CHECK(PoolManager::getInstance()->getCurrentPool() != own); }).join();
}

// The end of a callback closes the root pool that was made in it; the next use opens it again.
static void root_of_a_callback() {
    const int before = alive;
    std::thread([before] {
        AutoreleasePool* root = nullptr;
        {
            rp::CallbackScope callback;
            root = PoolManager::getInstance()->getCurrentPool();
            Node::create();
        }
        root->clear();
        Node::create();
        CHECK(alive == before + 1 && PoolManager::getInstance()->getCurrentPool() == root);
        root->addObject(new Node);
        CHECK(alive == before + 2);
        root->clear();
        CHECK(alive == before);
    }).join();
    // Until the root pool is open again, addObject does what autorelease does.
    std::thread([before] {
        AutoreleasePool* root = nullptr;
        for (int number = 0; number < 2; ++number) {
            rp::CallbackScope callback;
            root = PoolManager::getInstance()->getCurrentPool();
            root->addObject(new Node);
            CHECK(alive == before + 1);
#ifdef RP_COCOS_FIFO
            root->clear();
#endif
        }
        CHECK(alive == before && root == PoolManager::getInstance()->getCurrentPool());
        root->addObject(new Node);
    }).join();
    CHECK(alive == before);
}

int main() {
    warnings();
    root_of_a_callback();
    counts();
    CHECK(alive == 0);
    ref_ptrs();
    CHECK(alive == 0);
    pools();
    vectors();
    maps();
    engine_code();
    callbacks();
    threads();
    PoolManager::getInstance()->getCurrentPool()->clear();
    CHECK(alive == 0);
    Base::printLeaks();
    return 0;
}
