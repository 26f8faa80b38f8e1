// The memory interface of Cocos2d-x v3 and v4 on releasepool: Ref, Clonable, AutoreleasePool, PoolManager,
// RefPtr, WeakPtr, Vector, Map and the macros, in namespace cocos2d. For axmol 2, include "axmol.hpp": the
// same in namespace ax, where Ref is called Object.
//
// What changes for a program:
//
// * Counts are atomic, and each thread has its own pools. Any thread may create and autorelease at any time:
//   what is autoreleased without a pool is in the library's root pool, which the ends of callbacks, a clear
//   and the thread's end drain.
// * PoolManager::getCurrentPool on a thread without a pool opens one, which is cleared when the thread ends.
//   A main loop calls it once before anything is autoreleased; its clear drains the library's root pool, too.
// * Pools release newest first. Define RP_COCOS_FIFO (for the whole program) for the engine's order.
// * What destructors autorelease during a clear is released by the same clear, and never leaked.
// * `p = p->next`, self-move, `replace(i, same)`, `clear` from a destructor, a copied Ref and a stack pool
//   that outlives `destroyInstance` do what they say.
#ifndef RELEASEPOOL_COCOS2D_HPP
#define RELEASEPOOL_COCOS2D_HPP

#include "../releasepool.hpp"

#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#ifndef RP_COCOS_NAMESPACE
#define RP_COCOS_NAMESPACE cocos2d
#define RP_COCOS_REF Ref
#define RP_COCOS_ROOT_NAME "cocos2d autorelease pool"
#endif

#ifndef CC_ASSERT
#define CC_ASSERT(condition) assert(condition)
#endif
#ifndef CCASSERT
#ifdef NDEBUG
#define CCASSERT(condition, message) static_cast<void>(0)
#else
#define CCASSERT(condition, message)                                                                   \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            std::fprintf(stderr, "Assert failed: %s\n", message);                                      \
            CC_ASSERT(condition);                                                                      \
        }                                                                                              \
    } while (0)
#endif
#endif

#ifndef NS_CC_BEGIN
#define NS_CC_BEGIN namespace RP_COCOS_NAMESPACE {
#endif
#ifndef NS_CC_END
#define NS_CC_END }
#endif
#ifndef USING_NS_CC
#define USING_NS_CC using namespace RP_COCOS_NAMESPACE
#endif

#ifndef CREATE_FUNC
#define CREATE_FUNC(TYPE)                                                                              \
    static TYPE* create() {                                                                            \
        TYPE* made = new (std::nothrow) TYPE();                                                        \
        if (made && made->init()) {                                                                    \
            made->autorelease();                                                                       \
            return made;                                                                               \
        }                                                                                              \
        delete made;                                                                                   \
        return nullptr;                                                                                \
    }
#endif
#ifndef NODE_FUNC
#define NODE_FUNC(TYPE)                                                                                \
    static TYPE* node() { return TYPE::create(); }
#endif

#ifndef CC_SAFE_DELETE
#define CC_SAFE_DELETE(p)                                                                              \
    do {                                                                                               \
        delete (p);                                                                                    \
        (p) = nullptr;                                                                                 \
    } while (0)
#endif
#ifndef CC_SAFE_DELETE_ARRAY
#define CC_SAFE_DELETE_ARRAY(p)                                                                        \
    do {                                                                                               \
        delete[] (p);                                                                                  \
        (p) = nullptr;                                                                                 \
    } while (0)
#endif
#ifndef CC_SAFE_RETAIN
#define CC_SAFE_RETAIN(p)                                                                              \
    do {                                                                                               \
        if (p) {                                                                                       \
            (p)->retain();                                                                             \
        }                                                                                              \
    } while (0)
#endif
#ifndef CC_SAFE_RELEASE
#define CC_SAFE_RELEASE(p)                                                                             \
    do {                                                                                               \
        if (p) {                                                                                       \
            (p)->release();                                                                            \
        }                                                                                              \
    } while (0)
#endif
// Clears the variable first: a destructor may come back to it.
#ifndef CC_SAFE_RELEASE_NULL
#define CC_SAFE_RELEASE_NULL(p)                                                                        \
    do {                                                                                               \
        auto* const rp_old = (p);                                                                      \
        (p) = nullptr;                                                                                 \
        if (rp_old) {                                                                                  \
            rp_old->release();                                                                         \
        }                                                                                              \
    } while (0)
#endif
#ifndef CC_BREAK_IF
#define CC_BREAK_IF(condition)                                                                         \
    if (condition)                                                                                     \
    break
#endif

#ifndef CC_SYNTHESIZE_RETAIN
#define CC_SYNTHESIZE_RETAIN(TYPE, NAME, FUNCTION)                                                     \
private:                                                                                               \
    TYPE NAME;                                                                                         \
                                                                                                       \
public:                                                                                                \
    virtual TYPE get##FUNCTION() const { return NAME; }                                                \
    virtual void set##FUNCTION(TYPE value) {                                                           \
        if (NAME != value) {                                                                           \
            CC_SAFE_RETAIN(value);                                                                     \
            TYPE rp_before = NAME;                                                                     \
            NAME = value;                                                                              \
            CC_SAFE_RELEASE(rp_before);                                                                \
        }                                                                                              \
    }
#endif

#ifndef CC_DISALLOW_COPY_AND_ASSIGN
#define CC_DISALLOW_COPY_AND_ASSIGN(TYPE)                                                              \
    TYPE(const TYPE&) = delete;                                                                        \
    TYPE& operator=(const TYPE&) = delete;
#endif

namespace RP_COCOS_NAMESPACE {

class RP_COCOS_REF;
class AutoreleasePool;

// An object that can be copied.
class Clonable {
public:
    virtual Clonable* clone() const = 0;
    virtual ~Clonable() = default;
    // Not for use, as in the engine: call clone.
    RP_COCOS_REF* copy() const {
        CCASSERT(false, "copy is not implemented: call clone");
        return nullptr;
    }
};

// A counted object. It begins with one reference, which autorelease or release gives up.
class RP_COCOS_REF : public rp::Object {
public:
    ~RP_COCOS_REF() override = default;

    void retain() {
        CCASSERT(strong_count() > 0, "reference count should be greater than 0");
        rp::detail::Access::retain(rp::detail::Access::payload(this));
    }
    void release() {
        CCASSERT(strong_count() > 0, "reference count should be greater than 0");
        rp::detail::Access::release(rp::detail::Access::payload(this));
    }
    // Moves a reference into the calling thread's current pool.
    RP_COCOS_REF* autorelease();

    unsigned int getReferenceCount() const { return static_cast<unsigned int>(strong_count()); }

    // Lists the objects that are alive, by class; needs a library with the feature `leak-detection` for more
    // than their number.
    static void printLeaks() {
        std::size_t objects = 0;
        const auto line = [](const rp_leak* leak, void*) {
            std::printf("[memory] LEAK: %zu object(s) of type '%s' still active.\n", leak->objects,
                        leak->type_name);
        };
        if (rp_leaks(line, nullptr, &objects) != RP_OK) {
            rp_figures figures{};
            rp_snapshot(nullptr, &figures);
            objects = static_cast<std::size_t>(figures.live_objects);
        }
        if (objects == 0) {
            std::printf("[memory] All Ref objects successfully cleaned up (no leaks detected).\n");
        } else {
            std::printf("[memory] WARNING: %zu Ref object(s) still active in memory.\n", objects);
        }
    }

#if defined(CC_ENABLE_SCRIPT_BINDING) && CC_ENABLE_SCRIPT_BINDING
    // For the engine's script bindings.
    unsigned int _ID = 0;
    int _luaID = 0;
    void* _scriptObject = nullptr;
    bool _rooted = false;
#endif

protected:
    RP_COCOS_REF() = default;
    RP_COCOS_REF(const RP_COCOS_REF&) = default;
    RP_COCOS_REF& operator=(const RP_COCOS_REF&) = default;
};

// Member functions of a Ref, as schedulers and menus take them.
using SEL_CallFunc = void (RP_COCOS_REF::*)();
using SEL_CallFuncO = void (RP_COCOS_REF::*)(RP_COCOS_REF*);
using SEL_MenuHandler = void (RP_COCOS_REF::*)(RP_COCOS_REF*);
using SEL_SCHEDULE = void (RP_COCOS_REF::*)(float);

#ifndef CC_CALLFUNC_SELECTOR
#define CC_CALLFUNC_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_CallFunc>(&F)
#endif
#ifndef CC_CALLFUNCO_SELECTOR
#define CC_CALLFUNCO_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_CallFuncO>(&F)
#endif
#ifndef CC_MENU_SELECTOR
#define CC_MENU_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_MenuHandler>(&F)
#endif
#ifndef CC_SCHEDULE_SELECTOR
#define CC_SCHEDULE_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_SCHEDULE>(&F)
#endif
#ifndef callfunc_selector
#define callfunc_selector(F) CC_CALLFUNC_SELECTOR(F)
#endif
#ifndef callfuncO_selector
#define callfuncO_selector(F) CC_CALLFUNCO_SELECTOR(F)
#endif
#ifndef menu_selector
#define menu_selector(F) CC_MENU_SELECTOR(F)
#endif
#ifndef schedule_selector
#define schedule_selector(F) CC_SCHEDULE_SELECTOR(F)
#endif

// A pool, which is the calling thread's current one until it is destroyed. Meant for the stack.
class AutoreleasePool {
public:
    AutoreleasePool() : AutoreleasePool(std::string_view()) {}
    explicit AutoreleasePool(std::string_view name);
    explicit AutoreleasePool(const std::string& name) : AutoreleasePool(std::string_view(name)) {}
    explicit AutoreleasePool(const char* name) : AutoreleasePool(std::string_view(name)) {}
    // Clears the pool. Only its own entries: other pools stay as they are, whatever the order.
    ~AutoreleasePool();
    AutoreleasePool(const AutoreleasePool&) = delete;
    AutoreleasePool& operator=(const AutoreleasePool&) = delete;

    // Takes over a reference; n calls are n releases. Null fails an assertion, and is ignored without one.
    void addObject(RP_COCOS_REF* object);
    // Releases all entries, and those that destructors add meanwhile. In a destructor that a clear of this
    // pool has called, leaves the rest to that clear, or, with RP_COCOS_FIFO, goes on where it is.
    void clear();
    bool isClearing() const { return clearing_ != 0; }
    // Returns whether the pool has an entry for the object; false for null.
    bool contains(RP_COCOS_REF* object) const;
    void dump();

private:
    friend class PoolManager;
    friend class RP_COCOS_REF;

    // Fails on a thread that has not made the pool.
    void check_thread() const;
    // Returns whether this is the pool of getCurrentPool on a thread without another.
    bool is_root() const;

    std::string name_;
    AutoreleasePool* below_ = nullptr;
    int clearing_ = 0;
    // The pools of the thread that has made this one.
    const void* thread_;
#ifdef RP_COCOS_FIFO
    std::vector<RP_COCOS_REF*> entries_;
    // The next entry that a clear in progress releases; those before it are gone.
    std::size_t next_ = 0;
#else
    mutable rp_pool pool_{};
#endif
};

namespace detail {

// The pools of a thread. Without a destructor, so that it can be used while the thread ends.
struct ThreadPools {
    AutoreleasePool* top = nullptr;
    AutoreleasePool* root = nullptr;
    bool has_ended = false;
};

inline ThreadPools& own_pools() noexcept {
    static thread_local ThreadPools pools;
    return pools;
}

// The pool that a main loop clears: made when it is first asked for, cleared when the thread ends.
struct RootPool {
    RootPool() { own_pools().root = &pool; }
    // The end of the pool itself clears it.
    ~RootPool() {
        own_pools().root = nullptr;
        own_pools().has_ended = true;
    }
    AutoreleasePool pool{RP_COCOS_ROOT_NAME};
};

// Makes the thread's root pool, unless the thread has ended it.
inline void need_root() {
    ThreadPools& pools = own_pools();
    if (pools.top == nullptr && !pools.has_ended) {
        static thread_local RootPool root;
        static_cast<void>(root);
    }
}

} // namespace detail

// Finds the pools of the calling thread.
class PoolManager {
public:
    static PoolManager* getInstance() {
        static PoolManager manager;
        return &manager;
    }
    // Clears the calling thread's root pool, and the library's. Pools on the stack stay valid.
    static void destroyInstance() {
        if (AutoreleasePool* const root = detail::own_pools().root) {
            root->clear();
        } else {
            rp_drain_root(nullptr, nullptr);
        }
    }
    static PoolManager* sharedPoolManager() { return getInstance(); }
    static void purgePoolManager() { destroyInstance(); }

    // Returns the innermost pool; null only while the thread ends.
    AutoreleasePool* getCurrentPool() const {
        detail::need_root();
        return detail::own_pools().top;
    }
    // Returns whether a pool of the calling thread has an entry for the object; false for null.
    bool isObjectInPools(RP_COCOS_REF* object) const {
        if (object == nullptr) {
            return false;
        }
        for (AutoreleasePool* pool = detail::own_pools().top; pool != nullptr; pool = pool->below_) {
            if (pool->contains(object)) {
                return true;
            }
        }
        return rp_is_in_pools(rp::detail::Access::payload(object));
    }

private:
    PoolManager() = default;
};

inline AutoreleasePool::AutoreleasePool(std::string_view name)
    : name_(name), below_(detail::own_pools().top), thread_(&detail::own_pools()) {
    detail::own_pools().top = this;
#ifndef RP_COCOS_FIFO
    if (rp_pool_open(&pool_, name_.empty() ? nullptr : name_.c_str()) != RP_OK) {
        rp::detail::fail(rp_last_error());
    }
#endif
}

inline void AutoreleasePool::check_thread() const {
    if (thread_ != &detail::own_pools()) {
        rp::detail::fail("an AutoreleasePool belongs to another thread: use it on the thread that made it");
    }
}

inline bool AutoreleasePool::is_root() const { return detail::own_pools().root == this; }

inline AutoreleasePool::~AutoreleasePool() {
    check_thread();
    if (clearing_ != 0) {
        rp::detail::fail("an AutoreleasePool was destroyed by an object that it is releasing");
    }
    clear();
    // Takes this pool out of the list, wherever it is.
    for (AutoreleasePool** at = &detail::own_pools().top; *at != nullptr; at = &(*at)->below_) {
        if (*at == this) {
            *at = below_;
            break;
        }
    }
#ifdef RP_COCOS_FIFO
    // A destructor may have added entries after the pool was taken out.
    clear();
#else
    if (rp_pool_close(&pool_) != RP_OK) {
        rp::detail::fail(rp_last_error());
    }
#endif
}

inline void AutoreleasePool::addObject(RP_COCOS_REF* object) {
    CCASSERT(object != nullptr, "The object should not be nullptr");
    if (object == nullptr) {
        return;
    }
#ifdef RP_COCOS_FIFO
    check_thread();
    entries_.push_back(object);
#else
    if (rp_pool_add(&pool_, rp::detail::Access::payload(object)) != RP_OK) {
        rp::detail::fail(rp_last_error());
    }
#endif
}

inline void AutoreleasePool::clear() {
    check_thread();
    ++clearing_;
#ifdef RP_COCOS_FIFO
    // A clear inside a clear, from a destructor, goes on where the outer one is.
    while (next_ < entries_.size()) {
        RP_COCOS_REF* const object = entries_[next_++];
        object->release();
    }
    entries_.clear();
    next_ = 0;
#else
    const rp_status status = rp_pool_drain(&pool_, nullptr);
    if (status != RP_OK && status != RP_DRAINING) {
        rp::detail::fail(rp_last_error());
    }
#endif
    if (is_root() && clearing_ == 1) {
        // What was autoreleased without a pool.
        rp_drain_root(nullptr, nullptr);
    }
    --clearing_;
}

inline bool AutoreleasePool::contains(RP_COCOS_REF* object) const {
    if (object == nullptr) {
        return false;
    }
    // A root pool that is the current one stands for the library's, too.
    if (is_root() && detail::own_pools().top == this && rp_is_in_pools(rp::detail::Access::payload(object))) {
        return true;
    }
#ifdef RP_COCOS_FIFO
    const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(next_);
    return std::find(first, entries_.end(), object) != entries_.end();
#else
    return rp_pool_contains(&pool_, rp::detail::Access::payload(object));
#endif
}

inline void AutoreleasePool::dump() {
#ifdef RP_COCOS_FIFO
    std::printf("autorelease pool: %s, number of managed object %zu\n", name_.c_str(), entries_.size() - next_);
    std::printf("%20s%20s\n", "Object pointer", "reference count");
    for (std::size_t at = next_; at < entries_.size(); ++at) {
        std::printf("%20p%20u\n", static_cast<void*>(entries_[at]), entries_[at]->getReferenceCount());
    }
#else
    rp_pool_dump(&pool_, [](const char* text, void*) { std::printf("autorelease %s\n", text); }, nullptr);
#endif
}

inline RP_COCOS_REF* RP_COCOS_REF::autorelease() {
    CCASSERT(strong_count() > 0, "reference count should be greater than 0");
#ifdef RP_COCOS_FIFO
    if (AutoreleasePool* const pool = detail::own_pools().top) {
        pool->addObject(this);
        return this;
    }
#endif
    rp_embedded_autorelease(rp::detail::Access::payload(this));
    return this;
}

// A reference that retains. Where it is a member, T may be incomplete.
template <class T> class RefPtr {
public:
    RefPtr() noexcept = default;
    // A template, so that NULL is that of T*.
    template <class N, class = std::enable_if_t<std::is_same_v<N, std::nullptr_t>>> RefPtr(N) noexcept {}
    RefPtr(T* object) noexcept : ref_(object) { check_class(); }
    RefPtr(const RefPtr&) noexcept = default;
    RefPtr(RefPtr&&) noexcept = default;
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    RefPtr(const RefPtr<U>& other) noexcept : ref_(static_cast<T*>(other.get())) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    RefPtr(RefPtr<U>&& other) noexcept : ref_(std::move(other.ref_)) {}
    ~RefPtr() = default;

    RefPtr& operator=(const RefPtr&) noexcept = default;
    RefPtr& operator=(RefPtr&&) noexcept = default;
    // Templates, so that `p = {}` and `p.weakAssign({})` are those of T*.
    template <class N, class = std::enable_if_t<std::is_same_v<N, std::nullptr_t>>>
    RefPtr& operator=(N) noexcept {
        ref_.reset();
        return *this;
    }
    RefPtr& operator=(T* object) noexcept {
        check_class();
        ref_ = rp::Ref<T>(object);
        return *this;
    }
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    RefPtr& operator=(const RefPtr<U>& other) noexcept {
        ref_ = rp::Ref<T>(static_cast<T*>(other.get()));
        return *this;
    }
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    RefPtr& operator=(RefPtr<U>&& other) noexcept {
        ref_ = std::move(other.ref_);
        return *this;
    }

    operator T*() const noexcept { return ref_.get(); }
    T& operator*() const {
        CCASSERT(ref_, "Attempt to dereference a null pointer!");
        return *ref_;
    }
    T* operator->() const {
        CCASSERT(ref_, "Attempt to dereference a null pointer!");
        return ref_.get();
    }
    T* get() const noexcept { return ref_.get(); }
    explicit operator bool() const noexcept { return static_cast<bool>(ref_); }

    void reset() noexcept { ref_.reset(); }
    void swap(RefPtr& other) noexcept { ref_.swap(other.ref_); }

    // Takes over the reference that `new` has made, without adding one.
    void weakAssign(T* object) noexcept {
        check_class();
        ref_ = rp::adopt(object);
    }
    template <class N, class = std::enable_if_t<std::is_same_v<N, std::nullptr_t>>>
    void weakAssign(N) noexcept {
        ref_.reset();
    }
    // From another owner, this is an assignment: each of the two has a reference.
    void weakAssign(const RefPtr& other) noexcept { ref_ = other.ref_; }
    void weakAssign(RefPtr&& other) noexcept { ref_ = std::move(other.ref_); }
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    void weakAssign(const RefPtr<U>& other) noexcept {
        *this = other;
    }
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    void weakAssign(RefPtr<U>&& other) noexcept {
        *this = std::move(other);
    }

    // Returns the address that C knows, without a reference.
    void* to_c() const noexcept { return ref_.to_c(); }

private:
    template <class U> friend class RefPtr;

    static void check_class() noexcept {
        static_assert(std::is_base_of_v<RP_COCOS_REF, std::remove_cv_t<T>>, "T derives from the counted class");
    }

    rp::Ref<T> ref_;
};

namespace detail {

// Returns what comparisons of a RefPtr<T> compare of a pointer: the address that C knows of an object, and of
// another base of T that of its object.
template <class T, class U> const void* identity(U* object) noexcept {
    if constexpr (std::is_void_v<U>) {
        return rp::detail::Access::payload_or_null(static_cast<const T*>(object));
    } else if constexpr (rp::detail::is_object<U>) {
        return rp::detail::Access::payload_or_null(object);
    } else {
        return rp::detail::Access::payload_or_null(static_cast<const T*>(object));
    }
}

} // namespace detail

// Comparisons by object, with references, pointers (constant and not) and null: the classes through which it
// is seen do not matter.
#define RP_COCOS_COMPARE(OP)                                                                           \
    template <class T, class U> bool operator OP(const RefPtr<T>& a, const RefPtr<U>& b) noexcept {    \
        return static_cast<const void*>(a.to_c()) OP static_cast<const void*>(b.to_c());               \
    }                                                                                                  \
    template <class T, class U> bool operator OP(const RefPtr<T>& a, U* b) noexcept {                  \
        return static_cast<const void*>(a.to_c()) OP detail::identity<T>(b);                           \
    }                                                                                                  \
    template <class T, class U> bool operator OP(U* a, const RefPtr<T>& b) noexcept {                  \
        return detail::identity<T>(a) OP static_cast<const void*>(b.to_c());                           \
    }                                                                                                  \
    template <class T> bool operator OP(const RefPtr<T>& a, std::nullptr_t) noexcept {                 \
        return static_cast<const void*>(a.to_c()) OP static_cast<const void*>(nullptr);                \
    }                                                                                                  \
    template <class T> bool operator OP(std::nullptr_t, const RefPtr<T>& b) noexcept {                 \
        return static_cast<const void*>(nullptr) OP static_cast<const void*>(b.to_c());                \
    }
RP_COCOS_COMPARE(==)
RP_COCOS_COMPARE(!=)
RP_COCOS_COMPARE(<)
RP_COCOS_COMPARE(>)
RP_COCOS_COMPARE(<=)
RP_COCOS_COMPARE(>=)
#undef RP_COCOS_COMPARE

template <class T, class U> RefPtr<T> static_pointer_cast(const RefPtr<U>& r) {
    return RefPtr<T>(static_cast<T*>(r.get()));
}
template <class T, class U> RefPtr<T> dynamic_pointer_cast(const RefPtr<U>& r) {
    return RefPtr<T>(dynamic_cast<T*>(r.get()));
}

// Makes an object that the result alone owns.
template <class T, class... Args> RefPtr<T> makeRef(Args&&... args) {
    RefPtr<T> made;
    made.weakAssign(new T(std::forward<Args>(args)...));
    return made;
}

// A reference that does not keep its object alive; any thread may lock it.
template <class T> class WeakPtr {
public:
    WeakPtr() noexcept = default;
    WeakPtr(std::nullptr_t) noexcept {}
    explicit WeakPtr(T* object) noexcept : weak_(object) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    WeakPtr(const RefPtr<U>& r) noexcept : weak_(static_cast<T*>(r.get())) {}
    // Empty if the object is dead.
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    WeakPtr(const WeakPtr<U>& other) noexcept : WeakPtr(other.lock()) {}
    WeakPtr& operator=(T* object) noexcept {
        weak_ = rp::Weak<T>(object);
        return *this;
    }
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    WeakPtr& operator=(const RefPtr<U>& r) noexcept {
        return *this = static_cast<T*>(r.get());
    }

    RefPtr<T> lock() const noexcept {
        RefPtr<T> locked;
        locked.weakAssign(weak_.lock().release());
        return locked;
    }
    bool expired() const noexcept { return weak_.expired(); }
    // Returns the object without a reference, or null once it is dead: for a thread that knows of another
    // reference.
    T* get() const noexcept { return weak_.lock().get(); }
    T* operator->() const {
        T* const object = get();
        CCASSERT(object != nullptr, "Attempt to dereference a null pointer!");
        return object;
    }
    T& operator*() const { return *operator->(); }
    explicit operator bool() const noexcept { return !expired(); }
    void reset() noexcept { weak_.reset(); }
    friend bool operator==(const WeakPtr& a, const WeakPtr& b) noexcept { return a.weak_ == b.weak_; }
    friend bool operator!=(const WeakPtr& a, const WeakPtr& b) noexcept { return a.weak_ != b.weak_; }

private:
    rp::Weak<T> weak_;
};

namespace detail {

// Returns a random number below `size`, which is not 0.
inline std::size_t random_below(std::size_t size) {
    static thread_local std::minstd_rand generator{std::random_device{}()};
    return std::uniform_int_distribution<std::size_t>(0, size - 1)(generator);
}

} // namespace detail

// A std::vector of pointers to objects, each of which it retains. T is the pointer's type.
template <class T> class Vector {
public:
    using iterator = typename std::vector<T>::iterator;
    using const_iterator = typename std::vector<T>::const_iterator;
    using reverse_iterator = typename std::vector<T>::reverse_iterator;
    using const_reverse_iterator = typename std::vector<T>::const_reverse_iterator;

    iterator begin() { return data_.begin(); }
    const_iterator begin() const { return data_.begin(); }
    iterator end() { return data_.end(); }
    const_iterator end() const { return data_.end(); }
    const_iterator cbegin() const { return data_.cbegin(); }
    const_iterator cend() const { return data_.cend(); }
    reverse_iterator rbegin() { return data_.rbegin(); }
    const_reverse_iterator rbegin() const { return data_.rbegin(); }
    reverse_iterator rend() { return data_.rend(); }
    const_reverse_iterator rend() const { return data_.rend(); }
    const_reverse_iterator crbegin() const { return data_.crbegin(); }
    const_reverse_iterator crend() const { return data_.crend(); }

    Vector() { static_assert(std::is_convertible_v<T, RP_COCOS_REF*>, "Invalid Type for Vector!"); }
    explicit Vector(std::ptrdiff_t capacity) : Vector() { reserve(capacity); }
    Vector(std::initializer_list<T> list) : Vector() {
        for (const T& object : list) {
            pushBack(object);
        }
    }
    Vector(const Vector& other) : data_(other.data_) { retain_all(); }
    Vector(Vector&& other) noexcept : data_(std::move(other.data_)) { other.data_.clear(); }
    // A destructor may add to the vector that ends.
    ~Vector() {
        while (!data_.empty()) {
            clear();
        }
    }

    Vector& operator=(const Vector& other) {
        Vector(other).exchange(*this);
        return *this;
    }
    Vector& operator=(Vector&& other) noexcept {
        Vector(std::move(other)).exchange(*this);
        return *this;
    }

    T operator[](std::ptrdiff_t index) const { return at(index); }
    const T* data() const { return data_.data(); }

    void reserve(std::ptrdiff_t n) { data_.reserve(static_cast<std::size_t>(n)); }
    std::ptrdiff_t capacity() const { return static_cast<std::ptrdiff_t>(data_.capacity()); }
    std::ptrdiff_t size() const { return static_cast<std::ptrdiff_t>(data_.size()); }
    bool empty() const { return data_.empty(); }
    std::ptrdiff_t max_size() const { return static_cast<std::ptrdiff_t>(data_.max_size()); }

    std::ptrdiff_t getIndex(T object) const {
        const auto found = find(object);
        return found == data_.end() ? -1 : found - data_.begin();
    }
    const_iterator find(T object) const { return std::find(data_.begin(), data_.end(), object); }
    iterator find(T object) { return std::find(data_.begin(), data_.end(), object); }
    T at(std::ptrdiff_t index) const {
        CCASSERT(index >= 0 && index < size(), "index out of range in getObjectAtIndex()");
        return data_[static_cast<std::size_t>(index)];
    }
    T front() const { return data_.front(); }
    T back() const { return data_.back(); }
    T getRandomObject() const { return data_.empty() ? nullptr : data_[detail::random_below(data_.size())]; }
    bool contains(T object) const { return find(object) != data_.end(); }
    bool equals(const Vector& other) const { return data_ == other.data_; }

    void pushBack(T object) {
        CCASSERT(object != nullptr, "The object should not be nullptr");
        data_.push_back(object);
        object->retain();
    }
    void pushBack(const Vector& other) {
        // By index: `other` may be this vector.
        const std::size_t n = other.data_.size();
        data_.reserve(data_.size() + n);
        for (std::size_t at = 0; at < n; ++at) {
            pushBack(other.data_[at]);
        }
    }
    void insert(std::ptrdiff_t index, T object) {
        CCASSERT(index >= 0 && index <= size(), "Invalid index!");
        CCASSERT(object != nullptr, "The object should not be nullptr");
        data_.insert(data_.begin() + index, object);
        object->retain();
    }
    void popBack() {
        CCASSERT(!data_.empty(), "no objects added");
        const T last = data_.back();
        data_.pop_back();
        last->release();
    }
    void eraseObject(T object, bool removeAll = false) {
        CCASSERT(object != nullptr, "The object should not be nullptr");
        if (removeAll) {
            const auto kept = std::remove(data_.begin(), data_.end(), object);
            auto n = data_.end() - kept;
            data_.erase(kept, data_.end());
            for (; n > 0; --n) {
                object->release();
            }
        } else {
            const auto found = find(object);
            if (found != data_.end()) {
                erase(found);
            }
        }
    }
    iterator erase(iterator position) {
        CCASSERT(position >= data_.begin() && position < data_.end(), "Invalid position!");
        const T object = *position;
        const auto at = data_.erase(position) - data_.begin();
        object->release();
        // The destructor may have changed the vector.
        return data_.begin() + std::min(at, size());
    }
    iterator erase(iterator first, iterator last) {
        const std::vector<T> erased(first, last);
        const auto at = data_.erase(first, last) - data_.begin();
        for (const T object : erased) {
            object->release();
        }
        return data_.begin() + std::min(at, size());
    }
    iterator erase(std::ptrdiff_t index) {
        CCASSERT(!data_.empty() && index >= 0 && index < size(), "Invalid index!");
        return erase(data_.begin() + index);
    }
    void clear() {
        // Empty before the first release: a destructor may come back.
        std::vector<T> erased;
        erased.swap(data_);
        for (const T object : erased) {
            object->release();
        }
    }
    void swap(T object1, T object2) {
        const std::ptrdiff_t index1 = getIndex(object1);
        const std::ptrdiff_t index2 = getIndex(object2);
        CCASSERT(index1 >= 0 && index2 >= 0, "invalid object index");
        swap(index1, index2);
    }
    void swap(std::ptrdiff_t index1, std::ptrdiff_t index2) {
        CCASSERT(index1 >= 0 && index1 < size() && index2 >= 0 && index2 < size(), "Invalid indices");
        std::swap(data_[static_cast<std::size_t>(index1)], data_[static_cast<std::size_t>(index2)]);
    }
    void replace(std::ptrdiff_t index, T object) {
        CCASSERT(index >= 0 && index < size(), "Invalid index!");
        CCASSERT(object != nullptr, "The object should not be nullptr");
        object->retain();
        std::exchange(data_[static_cast<std::size_t>(index)], object)->release();
    }
    void reverse() { std::reverse(data_.begin(), data_.end()); }
    void shrinkToFit() { data_.shrink_to_fit(); }

private:
    void retain_all() {
        for (const T object : data_) {
            object->retain();
        }
    }
    void exchange(Vector& other) noexcept { data_.swap(other.data_); }

    std::vector<T> data_;
};

// A std::unordered_map to pointers to objects, each of which it retains. V is the pointer's type.
template <class K, class V> class Map {
public:
    using RefMap = std::unordered_map<K, V>;
    using iterator = typename RefMap::iterator;
    using const_iterator = typename RefMap::const_iterator;

    iterator begin() { return data_.begin(); }
    const_iterator begin() const { return data_.begin(); }
    iterator end() { return data_.end(); }
    const_iterator end() const { return data_.end(); }
    const_iterator cbegin() const { return data_.cbegin(); }
    const_iterator cend() const { return data_.cend(); }

    Map() { static_assert(std::is_convertible_v<V, RP_COCOS_REF*>, "Invalid Type for Map!"); }
    explicit Map(std::ptrdiff_t capacity) : Map() { reserve(capacity); }
    Map(const Map& other) : data_(other.data_) {
        for (const auto& entry : data_) {
            entry.second->retain();
        }
    }
    Map(Map&& other) noexcept : data_(std::move(other.data_)) { other.data_.clear(); }
    // A destructor may add to the map that ends.
    ~Map() {
        while (!data_.empty()) {
            clear();
        }
    }
    Map& operator=(const Map& other) {
        Map(other).data_.swap(data_);
        return *this;
    }
    Map& operator=(Map&& other) noexcept {
        Map moved(std::move(other));
        moved.data_.swap(data_);
        return *this;
    }

    void reserve(std::ptrdiff_t n) { data_.reserve(static_cast<std::size_t>(n)); }
    std::size_t bucketCount() const { return data_.bucket_count(); }
    std::size_t bucketSize(std::ptrdiff_t n) const { return data_.bucket_size(static_cast<std::size_t>(n)); }
    std::size_t bucket(const K& key) const { return data_.bucket(key); }
    std::size_t size() const { return data_.size(); }
    bool empty() const { return data_.empty(); }

    std::vector<K> keys() const {
        std::vector<K> found;
        found.reserve(data_.size());
        for (const auto& entry : data_) {
            found.push_back(entry.first);
        }
        return found;
    }
    std::vector<K> keys(V object) const {
        std::vector<K> found;
        for (const auto& entry : data_) {
            if (entry.second == object) {
                found.push_back(entry.first);
            }
        }
        return found;
    }

    // Returns the object, or null.
    V at(const K& key) const {
        const auto found = data_.find(key);
        return found == data_.end() ? V(nullptr) : found->second;
    }
    const_iterator find(const K& key) const { return data_.find(key); }
    iterator find(const K& key) { return data_.find(key); }
    // By what a key can be made of, such as a std::string_view.
    template <class Q, class = std::enable_if_t<!std::is_convertible_v<Q, K> && std::is_constructible_v<K, Q>>>
    V at(const Q& key) const {
        return at(K(key));
    }
    template <class Q, class = std::enable_if_t<!std::is_convertible_v<Q, K> && std::is_constructible_v<K, Q>>>
    iterator find(const Q& key) {
        return find(K(key));
    }
    template <class Q, class = std::enable_if_t<!std::is_convertible_v<Q, K> && std::is_constructible_v<K, Q>>>
    const_iterator find(const Q& key) const {
        return find(K(key));
    }
    template <class Q, class = std::enable_if_t<!std::is_convertible_v<Q, K> && std::is_constructible_v<K, Q>>>
    void insert(const Q& key, V object) {
        insert(K(key), object);
    }
    template <class Q, class = std::enable_if_t<!std::is_convertible_v<Q, K> && std::is_constructible_v<K, Q>>>
    std::size_t erase(const Q& key) {
        return erase(K(key));
    }

    void insert(const K& key, V object) {
        CCASSERT(object != nullptr, "Object is nullptr!");
        object->retain();
        const auto placed = data_.emplace(key, object);
        if (!placed.second) {
            std::exchange(placed.first->second, object)->release();
        }
    }
    // Returns the position after the erased one. If a destructor changes the map, that is the position of
    // the key that followed; the end if the key is gone.
    iterator erase(const_iterator position) {
        CCASSERT(position != data_.cend(), "Invalid iterator!");
        const V object = position->second;
        const iterator next = data_.erase(position);
        if (next == data_.end()) {
            object->release();
            return data_.end();
        }
        const K key = next->first;
        object->release();
        return data_.find(key);
    }
    std::size_t erase(const K& key) {
        const auto found = data_.find(key);
        if (found == data_.end()) {
            return 0;
        }
        const V object = found->second;
        data_.erase(found);
        object->release();
        return 1;
    }
    void erase(const std::vector<K>& keys) {
        for (const K& key : keys) {
            erase(key);
        }
    }
    void clear() {
        RefMap erased;
        erased.swap(data_);
        for (const auto& entry : erased) {
            entry.second->release();
        }
    }
    V getRandomObject() const {
        if (data_.empty()) {
            return nullptr;
        }
        const auto steps = static_cast<std::ptrdiff_t>(detail::random_below(data_.size()));
        return std::next(data_.begin(), steps)->second;
    }

private:
    RefMap data_;
};

template <class V> using StringMap = Map<std::string, V>;

} // namespace RP_COCOS_NAMESPACE

template <class T> struct std::hash<RP_COCOS_NAMESPACE::RefPtr<T>> {
    std::size_t operator()(const RP_COCOS_NAMESPACE::RefPtr<T>& r) const noexcept {
        return std::hash<void*>()(r.to_c());
    }
};

#endif
