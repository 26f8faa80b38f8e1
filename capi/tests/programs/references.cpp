// rp::Ref and rp::Weak: copies, moves, conversions, incomplete types; the ways in which objects are made and
// end. Is compiled for inline counts, and for counts by calls (see RP_CHECKED).
#include "check.h"
#include "releasepool.hpp"
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

static int alive;

struct Later;

// A class that refers to itself and to a class that is not complete yet.
struct Node : rp::Object {
    explicit Node(int value_ = 0) : value(value_) { ++alive; }
    Node(const Node& other) : rp::Object(other), value(other.value) { ++alive; }
    Node& operator=(const Node&) = default;
    ~Node() override { --alive; }
    int value;
    rp::Ref<Node> next;
    rp::Ref<Later> later;
    rp::Weak<Later> weak_later;
};

struct Later : Node {};

// Second has the rp::Object as its second base, Third as its third.
struct Name {
    virtual ~Name() = default;
    std::string name = "a name that is longer than a short string holds";
};
struct Second : Name, Node {
    int after = 7;
};
struct Other {
    virtual ~Other() = default;
    long other = 9;
};
struct Third : Other, Second {};
struct Virtually : virtual Node {
    int after = 8;
};

struct alignas(64) Aligned : Node {
    char bytes[64] = {};
};
struct Large : Node {
    char bytes[5000] = {};
};

static void counts() {
    rp::Ref<Node> empty;
    CHECK(!empty && empty.get() == nullptr && empty == nullptr);
    rp::Ref<Node> a = rp::make<Node>(1);
    CHECK(a->strong_count() == 1 && a->value == 1 && (*a).value == 1 && alive == 1);
    rp::Ref<Node> b = a;
    CHECK(a->strong_count() == 2 && a == b && !(a != b) && !(a < b));
    rp::Ref<Node> c = std::move(b);
    CHECK(a->strong_count() == 2 && !b && c == a);
    rp::Ref<Node>& same = a;
    a = same;
    a = std::move(same);
    CHECK(a && a->strong_count() == 2);
    c = nullptr;
    CHECK(a->strong_count() == 1);
    rp::Ref<const Node> k = a;
    CHECK(k->value == 1 && a->strong_count() == 2);
    rp::Ref<Node> back = rp::const_pointer_cast<Node>(k);
    CHECK(back == a);
    k.reset();
    back.swap(empty);
    CHECK(!back && empty == a);
    empty = rp::Ref<Node>(a.get());
    CHECK(a->strong_count() == 2);
    std::set<rp::Ref<Node>> ordered{a, empty, rp::make<Node>(2)};
    std::unordered_set<rp::Ref<Node>> hashed{a, empty};
    CHECK(ordered.size() == 2 && hashed.size() == 1);
}

static void lists() {
    // p = p->next frees the node whose field is assigned.
    rp::Ref<Node> p;
    for (int i = 0; i < 100; ++i) {
        rp::Ref<Node> first = rp::make<Node>(i);
        first->next = p;
        p = std::move(first);
    }
    int steps = 0;
    while (p) {
        CHECK(alive == 100 - steps);
        if (steps % 2 == 0) {
            p = p->next;
        } else {
            p = std::move(p->next);
        }
        ++steps;
    }
    CHECK(steps == 100 && alive == 0);
    // A long list dies in constant stack.
    for (int i = 0; i < 50000; ++i) {
        rp::Ref<Node> first = rp::make<Node>(i);
        first->next = std::move(p);
        p = std::move(first);
    }
    p.reset();
    CHECK(alive == 0);
}

static void classes() {
    rp::Ref<Second> second = rp::make<Second>();
    rp::Ref<Node> node = second;
    CHECK(node.get() == second.get() && node->strong_count() == 2);
    CHECK(static_cast<void*>(node.get()) != static_cast<void*>(second.get()));
    CHECK(rp::static_pointer_cast<Second>(node)->after == 7);
    rp::Ref<Second> moved = rp::static_pointer_cast<Second>(std::move(node));
    second.reset();
    node.reset();
    CHECK(alive == 1 && moved->after == 7);
    moved.reset();
    CHECK(alive == 0);
    rp::Ref<Third> third = rp::make<Third>();
    CHECK(third->name.size() > 30 && third->other == 9);
    rp::Ref<Node> third_node = third;
    third.reset();
    third_node.reset();
    CHECK(alive == 0);
#if defined(__cpp_rtti)
    rp::Ref<Virtually> virtually = rp::make<Virtually>();
    rp::Ref<Node> of_virtual = virtually;
    CHECK(virtually->after == 8 && rp::dynamic_pointer_cast<Virtually>(of_virtual) == virtually);
    CHECK(!rp::dynamic_pointer_cast<Second>(of_virtual));
    virtually.reset();
    of_virtual.reset();
    CHECK(alive == 0);
#endif
    rp::Ref<Aligned> aligned = rp::make<Aligned>();
    CHECK(reinterpret_cast<std::uintptr_t>(aligned.get()) % 64 == 0);
    CHECK(rp::make<Large>()->bytes[4999] == 0);
    aligned.reset();
    // Names in reports.
    rp::AutoreleasePool pool("names");
    rp::create<Second>();
    CHECK(pool.dump().find("Second count 1") != std::string::npos);
    pool.drain();
    CHECK(alive == 0);
}

static void plain_values() {
    struct Point {
        double x, y;
    };
    rp::AutoreleasePool pool;
    Point* point = rp::create<Point>(Point{1.5, 2.5});
    rp::Ref<Point> kept(point);
    CHECK(point->x == 1.5 && pool.size() == 1 && pool.contains(point));
    CHECK(pool.drain() == 1 && kept->y == 2.5);
    rp::Ref<std::string> text = rp::make<std::string>(std::size_t{100}, 'x');
    rp::Weak<std::string> weak(text);
    CHECK(weak.lock()->size() == 100);
    text.reset();
    CHECK(weak.expired() && !weak.lock());
    struct alignas(32) Wide {
        int value;
    };
    rp::Ref<Wide> wide = rp::make<Wide>(Wide{3});
    CHECK(reinterpret_cast<std::uintptr_t>(wide.get()) % 32 == 0 && wide->value == 3);
    CHECK(reinterpret_cast<std::uintptr_t>(rp::create<Wide>(Wide{3})) % 32 == 0);
}

static void made_by_new() {
    rp::Ref<Node> adopted = rp::adopt(new Node(1));
    CHECK(adopted->strong_count() == 1);
    adopted.reset();
    CHECK(alive == 0);
    rp::Ref<Node> retained(new Second);
    CHECK(retained->strong_count() == 2);
    rp::adopt(retained.get()).reset();
    retained.reset();
    CHECK(alive == 0);
    // `delete` by hand, with and without weak references.
    delete new Second;
    CHECK(alive == 0);
    Node* made = rp::make<Second>().release();
    delete made;
    CHECK(alive == 0);
    for (int kind = 0; kind < 3; ++kind) {
        Second* second = kind == 0 ? new Second : rp::make<Second>().release();
        rp::Weak<Node> weak(second);
        rp::Weak<Node> other = weak;
        if (kind == 2) {
            rp::adopt(second).reset();
        } else {
            delete second;
        }
        CHECK(alive == 0 && weak.expired() && !weak.lock() && !other.lock());
        weak.reset();
        CHECK(!other.lock());
    }
    // The last release of an object that `new` made, with weak references.
    rp::Ref<Node> last = rp::adopt<Node>(new Large);
    rp::Weak<Node> weak(last);
    last.reset();
    CHECK(alive == 0 && !weak.lock());
    weak.reset();
    // A class without fields of its own.
    struct Empty : rp::Object {};
    for (int kind = 0; kind < 3; ++kind) {
        Empty* empty = kind == 0 ? rp::make<Empty>().release() : new Empty;
        rp::Weak<Empty> of_empty(empty);
        if (kind == 1) {
            delete empty;
        } else {
            rp::adopt(empty).reset();
        }
        CHECK(!of_empty.lock());
    }
    // Objects that `new` makes: over-aligned, in arrays, and with std::nothrow.
    rp::adopt(new Aligned).reset();
    delete new Aligned;
    Node* several = new Node[5];
    CHECK(alive == 5);
    delete[] several;
    CHECK(alive == 0);
    rp::adopt(new (std::nothrow) Node).reset();
    alignas(Node) char place[sizeof(Node)];
    Node* placed = new (place) Node(3);
    placed->~Node();
    CHECK(alive == 0);
}

struct WithMember : rp::Object {
    Node member{4};
    Node members[2];
};

static void on_the_stack_and_in_others() {
    {
        Node node(1);
        Node copy(node);
        copy = node;
        CHECK(node.strong_count() == 1 && copy.strong_count() == 1 && alive == 2);
        rp::Ref<Node> r(&node);
        Node of_two(node);
        CHECK(node.strong_count() == 2 && of_two.strong_count() == 1);
        of_two = node;
        CHECK(of_two.strong_count() == 1);
        rp::Weak<Node> weak(r);
    }
    CHECK(alive == 0);
    rp::make<WithMember>().reset();
    delete new WithMember;
    static Node for_ever(5);
    CHECK(alive == 1);
    --alive;
    std::vector<Node> many(10);
    many.resize(100);
    CHECK(alive == 100);
    many.clear();
    CHECK(alive == 0);
}

// Memory of the program, with an operator new for it.
struct Arena {
    alignas(64) char bytes[1024];
    std::size_t used = 0;
};
void* operator new(std::size_t size, Arena& arena) {
    char* const memory = arena.bytes + arena.used;
    arena.used += (size + 63) / 64 * 64;
    return memory;
}
void operator delete(void*, Arena&) noexcept {}

// An object at a place that the program has chosen ends by its destructor.
static void use_and_end(Node* node) {
    CHECK(node->value == 7 && node->strong_count() == 1 && alive == 1);
    {
        rp::AutoreleasePool pool;
        rp::Ref<Node> r(node);
        rp::Weak<Node> weak(r);
        CHECK(weak.lock() == r && pool.autorelease(r) == node);
        CHECK(node->strong_count() == 3);
    }
    CHECK(node->strong_count() == 1);
    node->~Node();
    CHECK(alive == 0);
}

static void placed() {
    Arena arena;
    // `::new`, as the class's own operators hide the program's.
    use_and_end(::new (arena) Node(7));
    use_and_end(::new (arena) Node(7));
    CHECK(arena.used >= 2 * sizeof(Node));
    use_and_end(new (arena.bytes) Node(7));
    rp_stack* const stack = rp_stack_new(1024);
    use_and_end(new (rp_stack_alloc(stack, sizeof(Node))) Node(7));
    CHECK(rp_stack_free(stack) == RP_OK);
}

static void pools() {
    rp::AutoreleasePool pool("outer");
    Node* first = rp::create<Node>(1);
    CHECK(first->strong_count() == 1 && pool.size() == 1 && pool.contains(first));
    {
        rp::AutoreleasePool inner;
        rp::create<Node>(2);
        rp::autorelease(rp::Ref<Node>(first));
        pool.autorelease(rp::make<Node>(3));
        CHECK(pool.create<Node>(4)->value == 4);
        CHECK(inner.size() == 2 && pool.size() == 3 && alive == 4);
        CHECK(rp::autorelease(rp::Ref<Node>()) == nullptr);
    }
    CHECK(alive == 3 && first->strong_count() == 1);
    const rp_drained drained = pool.drain_within(2, 0);
    CHECK(drained.released == 2 && drained.remaining == 1 && alive == 1);
    rp_drain_backlog(nullptr, 0, 0, nullptr);
    CHECK(alive == 0);
    {
        rp::CallbackScope callback;
        rp::create<Node>(5);
        CHECK(alive == 1);
    }
    CHECK(alive == 0);
}

static void slots() {
    rp::Slot<Node> slot;
    CHECK(!slot.load());
    rp::Ref<Node> a = rp::make<Node>(1);
    slot.store(a);
    CHECK(slot.load() == a);
    rp::AutoreleasePool pool;
    CHECK(slot.load(pool) == a.get() && a->strong_count() == 2);
    rp::Ref<Node> b = rp::make<Node>(2);
    CHECK(!slot.compare_exchange(b.get(), b));
    CHECK(b->strong_count() == 1);
    CHECK(slot.compare_exchange(a.get(), b) && slot.load() == b);
    CHECK(slot.swap(nullptr) == b);
    CHECK(a->value == 1);
    pool.drain();
    a.reset();
    b.reset();
    rp_quiesce(nullptr, 1000000000);
    CHECK(alive == 0);
}

#if RP_EXCEPTIONS
struct FailsToBegin : Node {
    FailsToBegin() { throw 1; }
};

struct FailsShared : rp::Object {
    static rp::Weak<FailsShared> self;
    FailsShared() {
        self = rp::Weak<FailsShared>(this);
        throw 1;
    }
    explicit FailsShared(long value) : values{value, value} {}
    long values[2];
};
rp::Weak<FailsShared> FailsShared::self;

static void exceptions() {
    int caught = 0;
    for (int kind = 0; kind < 3; ++kind) {
        try {
            if (kind == 0) {
                rp::make<FailsToBegin>();
            } else if (kind == 1) {
                rp::create<FailsToBegin>();
            } else {
                delete new FailsToBegin;
            }
        } catch (int) {
            ++caught;
        }
    }
    CHECK(caught == 3 && alive == 0);
    // Nor does new(std::nothrow) leak; the figures at the end of `main` tell.
    try {
        delete new (std::nothrow) FailsToBegin;
    } catch (int) {
        ++caught;
    }
    try {
        delete[] new (std::nothrow) FailsToBegin[2];
    } catch (int) {
        ++caught;
    }
    CHECK(caught == 5 && alive == 0);
    // A weak reference that a constructor has made keeps the memory.
    try {
        rp::make<FailsShared>();
    } catch (int) {
        ++caught;
    }
    rp::Ref<FailsShared> others[4];
    for (rp::Ref<FailsShared>& other : others) {
        other = rp::make<FailsShared>(0);
        CHECK(rp_weak_count(other.to_c()) == 0);
    }
    CHECK(caught == 6 && !FailsShared::self.lock());
    FailsShared::self.reset();
}
#endif

struct WithMembers : rp::Object {
    Node first;
    Node second;
};
struct PlainWithMembers {
    Node first;
    Node second;
};

template <class T> static void members() {
    for (int kind = 0; kind < 2; ++kind) {
        rp::Ref<T> outer = rp::make<T>();
        rp::Weak<T> weak;
        if (kind == 1) {
            weak = rp::Weak<T>(outer.get());
        }
        rp::Weak<Node> first(&outer->first);
        rp::Weak<Node> second(&outer->second);
        outer.reset();
        CHECK(alive == 0);
        rp::Ref<T> others[4];
        for (rp::Ref<T>& other : others) {
            other = rp::make<T>();
            CHECK(rp_weak_count(rp::Ref<Node>(&other->first).to_c()) == 0);
        }
        weak.reset();
        CHECK(!first.lock() && !second.lock() && first.expired());
        first.reset();
        CHECK(second.expired());
    }
    // Weak references to members, whose outer object `delete` ends.
    if constexpr (std::is_base_of_v<rp::Object, T>) {
        T* outer = rp::make<T>().release();
        rp::Weak<Node> first(&outer->first);
        rp::Weak<T> weak(outer);
        delete outer;
        CHECK(!first.lock() && !weak.lock());
    }
    // Elements of an array share its memory.
    Node* nodes = new Node[3];
    rp::Weak<Node> first(&nodes[0]);
    rp::Weak<Node> last(&nodes[2]);
    delete[] nodes;
    CHECK(!first.lock() && !last.lock());
    CHECK(alive == 0);
}

struct OwnNew : Node {
    static int news;
    static void* operator new(std::size_t size) {
        ++news;
        return ::operator new(size);
    }
    static void operator delete(void* memory) {
        --news;
        ::operator delete(memory);
    }
};
int OwnNew::news;

struct Interface {
    virtual ~Interface() = default;
    long value = 0;
};
struct Implements : Interface, rp::Object {};

// Drains the pool that is being drained.
struct Drains : rp::Object {
    static rp::AutoreleasePool* pool;
    ~Drains() override { CHECK(pool->drain() == 0 && pool->drain_within(1, 0).released == 0); }
};
rp::AutoreleasePool* Drains::pool;

static void special_cases() {
    members<WithMembers>();
    members<PlainWithMembers>();
    {
        // The class's own operators make and free the object, whatever ends it.
        OwnNew* by_hand = rp::make<OwnNew>().release();
        CHECK(OwnNew::news == 1);
        delete by_hand;
        rp::make<OwnNew>();
        CHECK(OwnNew::news == 0);
    }
    rp::Ref<Implements> r = rp::make<Implements>();
    rp::Ref<rp::Object> same = r;
    CHECK(r == same && same == r && !(r != same) && !(r < same) && !(same < r));
    CHECK(std::hash<rp::Ref<Implements>>()(r) == std::hash<rp::Ref<rp::Object>>()(same));
    rp::AutoreleasePool pool;
    CHECK(!pool.contains(static_cast<Node*>(nullptr)));
    Drains::pool = &pool;
    for (int i = 0; i < 3; ++i) {
        rp::create<Drains>();
    }
    CHECK(pool.drain() == 3);
    Node* nodes = new (std::nothrow) Node[3];
    CHECK(alive == 3);
    delete[] nodes;
}

int main() {
    counts();
    CHECK(alive == 0);
    lists();
    classes();
    plain_values();
    made_by_new();
    on_the_stack_and_in_others();
    placed();
    pools();
    slots();
    special_cases();
    CHECK(alive == 0);
#if RP_EXCEPTIONS
    exceptions();
#endif
    rp_quiesce(nullptr, 1000000000);
    rp_figures figures;
    CHECK(rp_snapshot(nullptr, &figures) == RP_OK);
    CHECK(figures.live_objects == 0 && figures.created == figures.destroyed);
    return 0;
}
