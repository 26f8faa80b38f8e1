// The memory interface of Cocos2d-x v3 and v4 on releasepool: Ref, Clonable, AutoreleasePool, PoolManager,
// RefPtr, WeakPtr, Vector, Map and the macros, in namespace cocos2d. For axmol 2, include
// "axmol.hpp": it has the same classes in namespace ax, where Ref is called Object.
//
// Like the headers that it replaces, it includes the engine's platform macros, configuration and macros where
// the include path has them. Without an engine, the macros of Ref and its objects are here, but those of
// assertions (CCASSERT and its like) are not.
//
// What changes for a program:
//
// * Counts are atomic, and each thread has its own pools. Any thread may create and autorelease at
//   any time. What is autoreleased without a pool goes to the library's root pool, and is reported.
//   That pool is drained at the end of a callback, by a clear, and at the thread's end.
// * The main thread, which is the one that initializes the program's static variables, opens a pool as soon as
//   something is autoreleased without one. On another thread, such as the render thread of Android,
//   PoolManager::getCurrentPool opens one. Such a pool is cleared when its thread ends; its clear
//   drains the library's root pool, too.
// * Pools release newest first. If a file of the program defines RP_COCOS_FIFO, pools have the
//   engine's order, first in, first out, except pools that static initializers of other files have
//   made earlier, perhaps the main thread's root pool. If a thread's innermost pool of this header
//   has that order, it also gets what is autoreleased inside a pool of the library (a callback's).
// * What destructors autorelease during a clear is released by the same clear, and never leaked.
// * `p = p->next`, self-move, `replace(i, same)`, `clear` from a destructor, a copied Ref and a stack pool
//   that outlives `destroyInstance` are safe.
#ifndef RELEASEPOOL_COCOS2D_HPP
#define RELEASEPOOL_COCOS2D_HPP

#include "../releasepool.hpp"

// With an engine, this includes what the engine's own header of Ref includes.
#ifdef RP_COCOS_AXMOL2
#if __has_include("platform/PlatformMacros.h") && __has_include("base/Config.h")
#define RP_COCOS_IN_ENGINE
#include "platform/PlatformMacros.h"
#include "base/Config.h"
#endif
#else
#if __has_include("platform/CCPlatformMacros.h")
#define RP_COCOS_IN_ENGINE
#include "platform/CCPlatformMacros.h"
#endif
#if __has_include("base/ccConfig.h")
#include "base/ccConfig.h"
#endif
#endif

#include <cassert>
#include <initializer_list>
#include <iterator>
#include <random>
#include <unordered_map>

#ifndef RP_COCOS_NAMESPACE
#define RP_COCOS_NAMESPACE cocos2d
#define RP_COCOS_REF Ref
#define RP_COCOS_ROOT_NAME "cocos2d autorelease pool"
#endif

#if !(defined(RP_COCOS_AXMOL2) && defined(RP_COCOS_IN_ENGINE))
// Each #ifndef guards macros that the engine, too, defines as one group.
#ifndef CC_ASSERT
#define CC_ASSERT(condition) assert(condition)
#endif

#ifndef NS_CC_BEGIN
#ifdef RP_COCOS_AXMOL2
#define NS_CC_BEGIN namespace ax {
#define USING_NS_CC using namespace ax
#else
#define NS_CC_BEGIN namespace cocos2d {
#define USING_NS_CC using namespace cocos2d
#endif
#define NS_CC_END }
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
#define NODE_FUNC(TYPE)                                                                                \
    static TYPE* node() { return TYPE::create(); }
#endif

#ifndef CC_SAFE_DELETE
#define CC_SAFE_DELETE(p)                                                                              \
    do {                                                                                               \
        delete (p);                                                                                    \
        (p) = nullptr;                                                                                 \
    } while (0)
#define CC_SAFE_DELETE_ARRAY(p)                                                                        \
    do {                                                                                               \
        delete[] (p);                                                                                  \
        (p) = nullptr;                                                                                 \
    } while (0)
#define CC_SAFE_RETAIN(p)                                                                              \
    do {                                                                                               \
        if (p) {                                                                                       \
            (p)->retain();                                                                             \
        }                                                                                              \
    } while (0)
#define CC_SAFE_RELEASE(p)                                                                             \
    do {                                                                                               \
        if (p) {                                                                                       \
            (p)->release();                                                                            \
        }                                                                                              \
    } while (0)
// Clears the variable first, as a destructor may use it.
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

#ifndef RP_COCOS_V2
#ifndef CC_REF_LEAK_DETECTION
#define CC_REF_LEAK_DETECTION 0
#endif
#ifndef CC_CALLFUNC_SELECTOR
#define CC_CALLFUNC_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_CallFunc>(&F)
#define CC_CALLFUNCN_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_CallFuncN>(&F)
#define CC_CALLFUNCND_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_CallFuncND>(&F)
#define CC_CALLFUNCO_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_CallFuncO>(&F)
#define CC_MENU_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_MenuHandler>(&F)
#define CC_SCHEDULE_SELECTOR(F) static_cast<RP_COCOS_NAMESPACE::SEL_SCHEDULE>(&F)
#endif
#ifndef callfunc_selector
#define callfunc_selector(F) CC_CALLFUNC_SELECTOR(F)
#define callfuncN_selector(F) CC_CALLFUNCN_SELECTOR(F)
#define callfuncND_selector(F) CC_CALLFUNCND_SELECTOR(F)
#define callfuncO_selector(F) CC_CALLFUNCO_SELECTOR(F)
#define menu_selector(F) CC_MENU_SELECTOR(F)
#define schedule_selector(F) CC_SCHEDULE_SELECTOR(F)
#endif
#endif
#endif

namespace RP_COCOS_NAMESPACE {

namespace rp_detail {

inline std::uint64_t next_id() noexcept;

} // namespace rp_detail

// A counted object. It begins with one reference, which autorelease or release gives up.
class RP_COCOS_REF : public rp::Object {
public:
#if defined(RP_COCOS_ADOPTED) && !defined(RP_COCOS_V2)
    // Makes the script engine forget the object. adopt.sh has put the definition into Cocos2d-x.
    ~RP_COCOS_REF() override;
#else
    ~RP_COCOS_REF() override = default;
#endif

    void retain();
    void release();
    // Moves a reference into the calling thread's current pool.
    RP_COCOS_REF* autorelease();

    unsigned int getReferenceCount() const;

    // Lists the objects that are alive, by class, if the library has the feature `leak-detection`; otherwise
    // prints only their number.
    static void printLeaks();

#ifndef RP_COCOS_V2
    // For the engine's script bindings. They exist even if the engine is built without bindings.
    unsigned int _ID = static_cast<unsigned int>(rp_detail::next_id());
    int _luaID = 0;
    void* _scriptObject = nullptr;
    bool _rooted = false;
#endif

protected:
    RP_COCOS_REF() = default;
    // A copy is a new object, with script members of its own.
    RP_COCOS_REF(const RP_COCOS_REF& other) noexcept : rp::Object(other) {}
    RP_COCOS_REF& operator=(const RP_COCOS_REF&) noexcept { return *this; }
};

} // namespace RP_COCOS_NAMESPACE

#define RP_COCOS_EXPLICIT
#include "detail/cocos.hpp"

namespace RP_COCOS_NAMESPACE {

// Makes an object whose only reference is the result.
template <class T, class... Args> RefPtr<T> makeRef(Args&&... args) {
    RefPtr<T> made;
    made.weakAssign(new T(std::forward<Args>(args)...));
    return made;
}

namespace rp_detail {

// Returns a random number below `size`, which is not 0.
inline std::size_t random_below(std::size_t size) {
    static thread_local std::minstd_rand generator{std::random_device{}()};
    return std::uniform_int_distribution<std::size_t>(0, size - 1)(generator);
}

} // namespace rp_detail

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
    // Repeats the clear, as the destructor of an element may add elements to this vector.
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
        RP_COCOS_ASSERT(index >= 0 && index < size(), "index out of range in getObjectAtIndex()");
        return data_[static_cast<std::size_t>(index)];
    }
    T front() const { return data_.front(); }
    T back() const { return data_.back(); }
    T getRandomObject() const { return data_.empty() ? nullptr : data_[rp_detail::random_below(data_.size())]; }
    bool contains(T object) const { return find(object) != data_.end(); }
    bool equals(const Vector& other) const { return data_ == other.data_; }

    void pushBack(T object) {
        RP_COCOS_ASSERT(object != nullptr, "The object should not be nullptr");
        data_.push_back(object);
        object->retain();
    }
    void pushBack(const Vector& other) {
        // Loops by index, as `other` may be this vector.
        const std::size_t n = other.data_.size();
        data_.reserve(data_.size() + n);
        for (std::size_t at = 0; at < n; ++at) {
            pushBack(other.data_[at]);
        }
    }
    void insert(std::ptrdiff_t index, T object) {
        RP_COCOS_ASSERT(index >= 0 && index <= size(), "Invalid index!");
        RP_COCOS_ASSERT(object != nullptr, "The object should not be nullptr");
        data_.insert(data_.begin() + index, object);
        object->retain();
    }
    void popBack() {
        RP_COCOS_ASSERT(!data_.empty(), "no objects added");
        const T last = data_.back();
        data_.pop_back();
        last->release();
    }
    void eraseObject(T object, bool removeAll = false) {
        RP_COCOS_ASSERT(object != nullptr, "The object should not be nullptr");
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
        RP_COCOS_ASSERT(position >= data_.begin() && position < data_.end(), "Invalid position!");
        const T object = *position;
        const auto at = data_.erase(position) - data_.begin();
        object->release();
        // The object's destructor may have changed the vector.
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
        RP_COCOS_ASSERT(!data_.empty() && index >= 0 && index < size(), "Invalid index!");
        return erase(data_.begin() + index);
    }
    void clear() {
        // Moves the elements out before the first release, as a destructor may use this vector.
        std::vector<T> erased;
        erased.swap(data_);
        for (const T object : erased) {
            object->release();
        }
    }
    void swap(T object1, T object2) {
        const std::ptrdiff_t index1 = getIndex(object1);
        const std::ptrdiff_t index2 = getIndex(object2);
        RP_COCOS_ASSERT(index1 >= 0 && index2 >= 0, "invalid object index");
        swap(index1, index2);
    }
    void swap(std::ptrdiff_t index1, std::ptrdiff_t index2) {
        RP_COCOS_ASSERT(index1 >= 0 && index1 < size() && index2 >= 0 && index2 < size(), "Invalid indices");
        std::swap(data_[static_cast<std::size_t>(index1)], data_[static_cast<std::size_t>(index2)]);
    }
    void replace(std::ptrdiff_t index, T object) {
        RP_COCOS_ASSERT(index >= 0 && index < size(), "Invalid index!");
        RP_COCOS_ASSERT(object != nullptr, "The object should not be nullptr");
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
template <class K, class V, class H = std::hash<K>, class E = std::equal_to<K>> class Map {
public:
    using RefMap = std::unordered_map<K, V, H, E>;
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
    // Repeats the clear, as the destructor of an element may add elements to this map.
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
    // For anything from which a key can be made, such as a std::string_view.
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
        RP_COCOS_ASSERT(object != nullptr, "Object is nullptr!");
        object->retain();
        const auto placed = data_.emplace(key, object);
        if (!placed.second) {
            std::exchange(placed.first->second, object)->release();
        }
    }
    // Returns the position after the erased one: that of the key which followed, or the end if a
    // destructor has removed that key.
    iterator erase(const_iterator position) {
        RP_COCOS_ASSERT(position != data_.cend(), "Invalid iterator!");
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
        const auto steps = static_cast<std::ptrdiff_t>(rp_detail::random_below(data_.size()));
        return std::next(data_.begin(), steps)->second;
    }

private:
    RefMap data_;
};

template <class V> using StringMap = Map<std::string, V>;

} // namespace RP_COCOS_NAMESPACE

// The engine's headers of RefPtr, Vector and Map include its macros, and so does this one: last, as
// the header of the macros may include this header again.
#ifdef RP_COCOS_AXMOL2
#if defined(RP_COCOS_IN_ENGINE) && __has_include("base/Macros.h")
#include "base/Macros.h"
#endif
#elif !defined(RP_COCOS_V2) && __has_include("base/ccMacros.h")
#include "base/ccMacros.h"
#endif

#endif
