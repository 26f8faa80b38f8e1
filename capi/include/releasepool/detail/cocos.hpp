// The code that the memory interfaces of Cocos2d-x and axmol share: pools, references, and the
// members of their counted class. Not for programs: cocos2d.hpp and axmol3.hpp include it, once
// they have declared the class.
//
// RP_COCOS_NAMESPACE is the engine's namespace, RP_COCOS_REF its class, RP_COCOS_ROOT_NAME the root
// pool's name, RP_COCOS_TAGS the namespace of axmol 3's tags. RP_COCOS_EXPLICIT is `explicit` if
// a pointer does not become a RefPtr by itself. RP_COCOS_V2 is defined for Cocos2d-x v2.
//
// Files of one program may differ in their settings, so no setting changes a class here.
#ifdef RELEASEPOOL_DETAIL_COCOS_HPP
#error "a program includes one of cocos2d.hpp, cocos2d_v2.hpp, axmol.hpp and axmol3.hpp"
#endif
#define RELEASEPOOL_DETAIL_COCOS_HPP

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

// RP_COCOS_ASSERT is on where the engine's own assertions are on. CCASSERT stays the engine's.
#if defined(_AX_DEBUG)
#define RP_COCOS_DEBUG (_AX_DEBUG > 0)
#elif defined(COCOS2D_DEBUG)
#define RP_COCOS_DEBUG (COCOS2D_DEBUG > 0)
#elif defined(NDEBUG)
#define RP_COCOS_DEBUG 0
#else
#define RP_COCOS_DEBUG 1
#endif
#if RP_COCOS_DEBUG
#define RP_COCOS_ASSERT(condition, message)                                                            \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            std::fprintf(stderr, "Assert failed: %s\n", message);                                      \
            assert(condition);                                                                         \
        }                                                                                              \
    } while (0)
#else
#define RP_COCOS_ASSERT(condition, message) static_cast<void>(0)
#endif

namespace RP_COCOS_NAMESPACE {

template <class T> class RefPtr;
template <class T> class WeakPtr;

// An object that can be copied.
class Clonable {
public:
    virtual Clonable* clone() const = 0;
    virtual ~Clonable() = default;
    // As in the engine, programs call clone instead.
    RP_COCOS_REF* copy() const {
        RP_COCOS_ASSERT(false, "copy is not implemented: call clone");
        return nullptr;
    }
};

#ifndef RP_COCOS_V2
class Node;

// Member functions of a Ref, as schedulers and menus take them.
using SEL_CallFunc = void (RP_COCOS_REF::*)();
using SEL_CallFuncN = void (RP_COCOS_REF::*)(Node*);
using SEL_CallFuncND = void (RP_COCOS_REF::*)(Node*, void*);
using SEL_CallFuncO = void (RP_COCOS_REF::*)(RP_COCOS_REF*);
using SEL_MenuHandler = void (RP_COCOS_REF::*)(RP_COCOS_REF*);
using SEL_SCHEDULE = void (RP_COCOS_REF::*)(float);
#endif

namespace rp_detail {

struct RootPool;

// True if new pools release first in, first out. There is one flag for the program. A file that
// defines RP_COCOS_FIFO sets it before main.
inline std::atomic<bool> is_fifo{false};
#ifdef RP_COCOS_FIFO
[[maybe_unused]] static const bool fifo_is_set = (is_fifo.store(true, std::memory_order_relaxed), true);
#endif

// Returns a number that no other call returns. Each thread reserves 1,024 at a time.
inline std::uint64_t next_id() noexcept {
    constexpr std::uint64_t taken = 1024;
    static std::atomic<std::uint64_t> last{0};
    static thread_local std::uint64_t last_here = 0;
    if (last_here % taken == 0) {
        last_here = last.fetch_add(taken, std::memory_order_relaxed);
    }
    return ++last_here;
}

class Eras;

} // namespace rp_detail

// A pool for the stack, current until it is destroyed, except while a pool made inside it exists.
class AutoreleasePool {
public:
    AutoreleasePool() : AutoreleasePool(std::string_view()) {}
    explicit AutoreleasePool(std::string_view name);
    explicit AutoreleasePool(const std::string& name) : AutoreleasePool(std::string_view(name)) {}
    explicit AutoreleasePool(const char* name) : AutoreleasePool(std::string_view(name)) {}
    // Releases the entries of this pool only: other pools stay as they are, in whatever order pools
    // end.
    ~AutoreleasePool();
    AutoreleasePool(const AutoreleasePool&) = delete;
    AutoreleasePool& operator=(const AutoreleasePool&) = delete;

    // Takes over a reference; after n calls with an object, the pool releases it n times. Null fails an
    // assertion, and is ignored without one.
    void addObject(RP_COCOS_REF* object);
    // Releases all entries, and those that destructors add meanwhile. In a destructor that a clear
    // of this pool has called, a second clear leaves the rest to the first one; in a pool that is
    // first in, first out, the second clear releases the rest.
    void clear();
    bool isClearing() const { return clearing_ != 0; }
    // Returns whether the pool has an entry for the object; false for null.
    bool contains(RP_COCOS_REF* object) const;
    void dump();

private:
    friend class PoolManager;
    friend class RP_COCOS_REF;
    friend class rp_detail::Eras;
    friend struct rp_detail::RootPool;

    // Aborts on a thread that has not made the pool.
    void check_thread() const;
    // Returns whether this is the thread's root pool, which getCurrentPool returns where there is no other.
    bool is_root() const;
    // Like contains, but a root pool does not stand for the library's pools here.
    bool has(RP_COCOS_REF* object) const;
    // Opens `pool_`; does nothing if this pool is first in, first out.
    void open();

    std::string name_;
    AutoreleasePool* below_ = nullptr;
    int clearing_ = 0;
    // The number of the pool's era, which no other pool has. Each clear ends an era.
    std::uint64_t era_;
    // The ThreadPools of the thread that has made this pool.
    const void* thread_;
    // True for first in, first out, by `entries_`; otherwise the library's `pool_` has the entries.
    const bool is_fifo_ = rp_detail::is_fifo.load(std::memory_order_relaxed);
    std::vector<RP_COCOS_REF*> entries_;
    // The index of the entry that a clear in progress releases next; earlier ones are released.
    std::size_t next_ = 0;
    mutable rp_pool pool_{};
};

namespace rp_detail {

// The pools of a thread. The type has no destructor, so it can be used while the thread ends.
struct ThreadPools {
    AutoreleasePool* top = nullptr;
    AutoreleasePool* root = nullptr;
    bool is_main = false;
    bool has_ended = false;
    // The number of the thread's newest era; 0 before the first pool.
    std::uint64_t era = 0;
};

inline ThreadPools& own_pools() noexcept {
    static thread_local ThreadPools pools;
    return pools;
}

// The number of lower bits, in which eras of one thread differ. The upper bits name the thread.
inline constexpr int era_bits = 40;

// Returns the number of a new era of the calling thread.
inline std::uint64_t next_era() noexcept {
    static std::atomic<std::uint64_t> threads{0};
    ThreadPools& pools = own_pools();
    if (pools.era == 0) {
        pools.era = (threads.fetch_add(1, std::memory_order_relaxed) + 1) << era_bits;
    }
    return ++pools.era;
}

// The main thread is the one that initializes the program's static variables.
inline const bool main_is_known = own_pools().is_main = true;

// The pool that a main loop clears: made when it is first asked for, cleared when the thread ends.
struct RootPool {
    RootPool() { own_pools().root = &pool; }
    // The destructor of `pool`, which follows, clears the pool.
    ~RootPool() {
        own_pools().root = nullptr;
        own_pools().has_ended = true;
    }
    // Opens the root's `pool_` again if the scope in which it was made (a callback) has closed it.
    static void reopen() {
        AutoreleasePool* const root = own_pools().root;
        if (root != nullptr && root == own_pools().top && !root->is_fifo_ && rp_is_without_pool()) {
            root->open();
        }
    }
    AutoreleasePool pool{RP_COCOS_ROOT_NAME};
};

// Makes the root pool if the thread has no pool, or reopens it; does nothing once it was destroyed.
inline void need_root() {
    ThreadPools& pools = own_pools();
    if (pools.top == nullptr && !pools.has_ended) {
        static thread_local RootPool root;
        static_cast<void>(root);
    }
    RootPool::reopen();
}

// Returns the pool into which the calling thread autoreleases; null if that is a pool of the
// library. The main thread gets its root pool here, unless a pool of the library is open.
inline AutoreleasePool* pool_for_autorelease() {
    const ThreadPools& pools = own_pools();
    if (RP_UNLIKELY(pools.top == nullptr) && pools.is_main && rp_is_without_pool()) {
        need_root();
    }
    return pools.top;
}

} // namespace rp_detail

// Finds the pools of the calling thread.
class PoolManager {
public:
    static PoolManager* getInstance() {
        static PoolManager manager;
        return &manager;
    }
    // Clears the calling thread's root pool, and the library's. Pools on the stack stay valid.
    static void destroyInstance() {
        if (AutoreleasePool* const root = rp_detail::own_pools().root) {
            root->clear();
        } else {
            rp_drain_root(nullptr, nullptr);
        }
    }
    static PoolManager* sharedPoolManager() { return getInstance(); }
    static void purgePoolManager() { destroyInstance(); }

    // Returns the innermost pool; null only while the thread ends.
    AutoreleasePool* getCurrentPool() const {
        rp_detail::need_root();
        return rp_detail::own_pools().top;
    }
    // Returns whether a pool of the calling thread has an entry for the object; false for null.
    bool isObjectInPools(RP_COCOS_REF* object) const {
        if (object == nullptr) {
            return false;
        }
        for (AutoreleasePool* pool = rp_detail::own_pools().top; pool != nullptr; pool = pool->below_) {
            // The call of the library, below, searches all other pools.
            if (pool->is_fifo_ && pool->has(object)) {
                return true;
            }
        }
        return rp_is_in_pools(rp::detail::Access::payload(object));
    }

private:
    PoolManager() = default;
};

inline AutoreleasePool::AutoreleasePool(std::string_view name)
    : name_(name), below_(rp_detail::own_pools().top), era_(rp_detail::next_era()),
      thread_(&rp_detail::own_pools()) {
    rp_detail::own_pools().top = this;
    open();
}

inline void AutoreleasePool::open() {
    if (!is_fifo_) {
        rp::detail::check(rp_pool_open(&pool_, name_.empty() ? nullptr : name_.c_str()));
    }
}

inline void AutoreleasePool::check_thread() const {
    if (thread_ != &rp_detail::own_pools()) {
        rp::detail::fail("an AutoreleasePool belongs to another thread: use it on the thread that made it");
    }
}

inline bool AutoreleasePool::is_root() const { return rp_detail::own_pools().root == this; }

inline AutoreleasePool::~AutoreleasePool() {
    check_thread();
    if (clearing_ != 0) {
        rp::detail::fail("an AutoreleasePool was destroyed by an object that it is releasing");
    }
    clear();
    // Takes this pool out of the list, wherever it is.
    for (AutoreleasePool** at = &rp_detail::own_pools().top; *at != nullptr; at = &(*at)->below_) {
        if (*at == this) {
            *at = below_;
            break;
        }
    }
    if (is_fifo_) {
        // A destructor may have added entries after the pool was taken out.
        clear();
    } else {
        rp::detail::check(rp_pool_close(&pool_), RP_STALE);
    }
}

inline void AutoreleasePool::addObject(RP_COCOS_REF* object) {
    RP_COCOS_ASSERT(object != nullptr, "The object should not be nullptr");
    if (object == nullptr) {
        return;
    }
    if (is_fifo_) {
        check_thread();
        entries_.push_back(object);
    } else {
        const rp_status status = rp_pool_add(&pool_, rp::detail::Access::payload(object));
        if (status == RP_STALE && is_root()) {
            // The scope in which the root pool was made has closed it: the library's current pool takes the
            // object.
            object->autorelease();
        } else {
            rp::detail::check(status);
        }
    }
}

inline void AutoreleasePool::clear() {
    check_thread();
    ++clearing_;
    if (is_fifo_) {
        // A clear by a destructor, inside another clear, goes on where the outer clear is.
        while (next_ < entries_.size()) {
            RP_COCOS_REF* const object = entries_[next_++];
            object->release();
        }
        entries_.clear();
        next_ = 0;
        era_ = rp_detail::next_era();
    } else {
        // Stale: the scope around the pool, such as a callback, has closed it.
        const rp_status status = rp_pool_drain(&pool_, nullptr);
        rp::detail::check(status, RP_DRAINING, RP_STALE);
        if (status != RP_DRAINING) {
            era_ = rp_detail::next_era();
        }
    }
    if (is_root() && clearing_ == 1) {
        // Releases what was autoreleased without a pool.
        rp_drain_root(nullptr, nullptr);
        rp_detail::RootPool::reopen();
    }
    --clearing_;
}

inline bool AutoreleasePool::contains(RP_COCOS_REF* object) const {
    if (object == nullptr) {
        return false;
    }
    // A root pool that is the current one stands for the library's pools, too.
    if (is_root() && rp_detail::own_pools().top == this && rp_is_in_pools(rp::detail::Access::payload(object))) {
        return true;
    }
    return has(object);
}

inline bool AutoreleasePool::has(RP_COCOS_REF* object) const {
    if (!is_fifo_) {
        return rp_pool_contains(&pool_, rp::detail::Access::payload(object));
    }
    const auto first = entries_.begin() + static_cast<std::ptrdiff_t>(next_);
    return std::find(first, entries_.end(), object) != entries_.end();
}

inline void AutoreleasePool::dump() {
    if (!is_fifo_) {
        rp_pool_dump(&pool_, [](const char* text, void*) { std::printf("autorelease %s\n", text); }, nullptr);
        return;
    }
    std::printf("autorelease pool: %s, number of managed object %zu\n", name_.c_str(), entries_.size() - next_);
    std::printf("%20s%20s\n", "Object pointer", "reference count");
    for (std::size_t at = next_; at < entries_.size(); ++at) {
        std::printf("%20p%20u\n", static_cast<void*>(entries_[at]), entries_[at]->getReferenceCount());
    }
}

inline void RP_COCOS_REF::retain() {
    RP_COCOS_ASSERT(strong_count() > 0, "reference count should be greater than 0");
    rp::detail::Access::retain(rp::detail::Access::payload(this));
}

inline void RP_COCOS_REF::release() {
    RP_COCOS_ASSERT(strong_count() > 0, "reference count should be greater than 0");
    rp::detail::Access::release(rp::detail::Access::payload(this));
}

inline RP_COCOS_REF* RP_COCOS_REF::autorelease() {
    RP_COCOS_ASSERT(strong_count() > 0, "reference count should be greater than 0");
    AutoreleasePool* const pool = rp_detail::pool_for_autorelease();
    // Reads `pool` only if pools may be first in, first out: after a longjmp, it may be dangling.
    if (RP_UNLIKELY(rp_detail::is_fifo.load(std::memory_order_relaxed)) && pool != nullptr && pool->is_fifo_) {
        pool->addObject(this);
    } else {
        rp_embedded_autorelease(rp::detail::context(), rp::detail::Access::payload(this));
    }
    return this;
}

inline unsigned int RP_COCOS_REF::getReferenceCount() const {
    return static_cast<unsigned int>(strong_count());
}

inline void RP_COCOS_REF::printLeaks() {
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

#ifdef RP_COCOS_AXMOL2
// A reference that a RefPtr takes over.
template <class T> struct ReferencedObject {
    T* _ptr;
};
#endif

// A pointer that owns a reference. T may be incomplete where a RefPtr<T> is a member.
template <class T> class RefPtr {
public:
    using element_type = T;

    RefPtr() noexcept = default;
    // A template, so that NULL calls the constructor for T*.
    template <class N, class = std::enable_if_t<std::is_same_v<N, std::nullptr_t>>> RefPtr(N) noexcept {}
    RP_COCOS_EXPLICIT RefPtr(T* object) noexcept : ref_(object) { check_class(); }
    RefPtr(const RefPtr&) noexcept = default;
    RefPtr(RefPtr&&) noexcept = default;
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    RefPtr(const RefPtr<U>& other) noexcept : ref_(static_cast<T*>(other.get())) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    RefPtr(RefPtr<U>&& other) noexcept : ref_(std::move(other.ref_)) {}
    ~RefPtr() = default;

    RefPtr& operator=(const RefPtr&) noexcept = default;
    RefPtr& operator=(RefPtr&&) noexcept = default;
    // Templates, so that `p = {}` and `p.weakAssign({})` call the functions for T*.
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
        RP_COCOS_ASSERT(ref_, "Attempt to dereference a null pointer!");
        return *ref_;
    }
    T* operator->() const {
        RP_COCOS_ASSERT(ref_, "Attempt to dereference a null pointer!");
        return ref_.get();
    }
    T* get() const noexcept { return ref_.get(); }
    explicit operator bool() const noexcept { return static_cast<bool>(ref_); }

    void reset() noexcept { ref_.reset(); }
    void reset(T* object) noexcept { *this = object; }
    void swap(RefPtr& other) noexcept { ref_.swap(other.ref_); }
    // Returns the object with its reference, which the caller now owns.
    T* detach() noexcept { return ref_.release(); }

#ifdef RP_COCOS_AXMOL2
    // Takes over the reference.
    template <class U> RefPtr(ReferencedObject<U>&& object) noexcept { weakAssign(object._ptr); }
#endif
#ifdef RP_COCOS_TAGS
    RefPtr(T* object, RP_COCOS_TAGS::retain_object_t) noexcept : RefPtr(object) {}
    RefPtr(T* object, RP_COCOS_TAGS::adopt_object_t) noexcept { weakAssign(object); }
    void reset(T* object, RP_COCOS_TAGS::retain_object_t) noexcept { *this = object; }
    void reset(T* object, RP_COCOS_TAGS::adopt_object_t) noexcept { weakAssign(object); }
#endif

    // Takes over the reference that `new` has made, without adding one.
    void weakAssign(T* object) noexcept {
        check_class();
        ref_ = rp::adopt(object);
    }
    template <class N, class = std::enable_if_t<std::is_same_v<N, std::nullptr_t>>>
    void weakAssign(N) noexcept {
        ref_.reset();
    }
    // Counts a reference: `other` keeps its own.
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
    template <class U> friend class WeakPtr;

    static void check_class() noexcept {
        static_assert(std::is_base_of_v<RP_COCOS_REF, std::remove_cv_t<T>>, "T derives from the counted class");
    }

    rp::Ref<T> ref_;
};

namespace rp_detail {

// Returns the address by which a RefPtr<T> compares with `object`: the object's address in C, even
// if `object` points to another base class of T.
template <class T, class U> const void* identity(U* object) noexcept {
    if constexpr (std::is_void_v<U>) {
        return rp::detail::Access::payload_or_null(static_cast<const T*>(object));
    } else if constexpr (rp::detail::is_object<U>) {
        return rp::detail::Access::payload_or_null(object);
    } else {
        return rp::detail::Access::payload_or_null(static_cast<const T*>(object));
    }
}

} // namespace rp_detail

// Comparisons of objects, by references, pointers (constant or not) and null, whatever the classes.
#define RP_COCOS_COMPARE(OP)                                                                           \
    template <class T, class U> bool operator OP(const RefPtr<T>& a, const RefPtr<U>& b) noexcept {    \
        return static_cast<const void*>(a.to_c()) OP static_cast<const void*>(b.to_c());               \
    }                                                                                                  \
    template <class T, class U> bool operator OP(const RefPtr<T>& a, U* b) noexcept {                  \
        return static_cast<const void*>(a.to_c()) OP rp_detail::identity<T>(b);                           \
    }                                                                                                  \
    template <class T, class U> bool operator OP(U* a, const RefPtr<T>& b) noexcept {                  \
        return rp_detail::identity<T>(a) OP static_cast<const void*>(b.to_c());                           \
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
template <class T, class U> RefPtr<T> const_pointer_cast(const RefPtr<U>& r) {
    return RefPtr<T>(const_cast<T*>(r.get()));
}
template <class T, class U> RefPtr<T> dynamic_pointer_cast(const RefPtr<U>& r) {
    return RefPtr<T>(dynamic_cast<T*>(r.get()));
}

// A reference that does not keep its object alive; any thread may lock it.
template <class T> class WeakPtr {
public:
    WeakPtr() noexcept = default;
    WeakPtr(std::nullptr_t) noexcept {}
    explicit WeakPtr(T* object) noexcept : weak_(object) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    WeakPtr(const RefPtr<U>& r) noexcept : weak_(static_cast<T*>(r.get())) {}
    // The new pointer is empty if the object is dead.
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
        locked.ref_ = weak_.lock();
        return locked;
    }
    bool expired() const noexcept { return weak_.expired(); }
    // Returns the object without a reference, or null once it is dead: only for a thread that knows that
    // something else holds a reference.
    T* get() const noexcept { return weak_.lock().get(); }
    T* operator->() const {
        T* const object = get();
        RP_COCOS_ASSERT(object != nullptr, "Attempt to dereference a null pointer!");
        return object;
    }
    T& operator*() const { return *operator->(); }
    explicit operator bool() const noexcept { return !expired(); }
    void reset() noexcept { weak_.reset(); }
    // Equal if both find the same object, or neither finds one, as a null pointer does.
    friend bool operator==(const WeakPtr& a, const WeakPtr& b) noexcept {
        return a.weak_.lock() == b.weak_.lock();
    }
    friend bool operator!=(const WeakPtr& a, const WeakPtr& b) noexcept { return !(a == b); }
    template <class U> bool operator==(const U* object) const noexcept { return get() == object; }
    template <class U> bool operator!=(const U* object) const noexcept { return get() != object; }

private:
    rp::Weak<T> weak_;
};

} // namespace RP_COCOS_NAMESPACE

template <class T> struct std::hash<RP_COCOS_NAMESPACE::RefPtr<T>> {
    std::size_t operator()(const RP_COCOS_NAMESPACE::RefPtr<T>& r) const noexcept {
        return std::hash<void*>()(r.to_c());
    }
};
