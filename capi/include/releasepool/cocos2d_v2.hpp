// The memory interface of Cocos2d-x v2 on releasepool: CCObject, CCCopying, CCZone, CCAutoreleasePool and
// CCPoolManager, like cocos2d.hpp for v3, which says what changes for a program. Below them is the interface
// of v3, in namespace cocos2d::rp_v3: v2 has no classes named Node, Map or Vector, so a program may have its
// own.
//
// * CCPoolManager::push and pop belong to the calling thread. `pop` without a `push` clears the thread's root
//   pool, as v2's main loop has it do after each frame.
// * `object->autorelease(); object->release();` is allowed. In v2, the release takes the object out
//   of the pool and ends it. Here a pool owns its entries: if a pool of the calling thread has the
//   object, the last release does nothing, and the pool's drain ends the object. Not searched are
//   pools of other threads, and pools that got the object by neither CCObject::autorelease nor
//   addObject. A release other than CCObject::release (an rp::Ref's) gives up the pool's reference.
// * `removeObject` adds a reference for the caller; the object stays in the pool until the drain.
#ifndef RELEASEPOOL_COCOS2D_V2_HPP
#define RELEASEPOOL_COCOS2D_V2_HPP

#define RP_COCOS_NAMESPACE cocos2d::rp_v3
#define RP_COCOS_REF Ref
#define RP_COCOS_ROOT_NAME "cocos2d autorelease pool"
#define RP_COCOS_V2

#include "cocos2d.hpp"

#if __has_include("cocoa/CCDataVisitor.h")
#include "cocoa/CCDataVisitor.h"
#define RP_COCOS_VISIT(visitor) visitor.visitObject(this)
#else
#define RP_COCOS_VISIT(visitor) static_cast<void>(visitor)
#endif

namespace cocos2d::rp_v3::rp_detail {

// Notes which pool has got an object, so that most releases need no search to know that no pool of
// the thread has it. An era is a pool's time between two clears.
class Eras {
public:
    // Notes that `pool` has got the object; null stands for any pool that has no eras.
    void add(const AutoreleasePool* pool) noexcept {
        std::uint64_t known = last_.load(std::memory_order_relaxed);
        const std::uint64_t now = pool == nullptr ? any : pool->era_;
        if (known == now || known == any) {
            return;
        }
        // Only the thread of a pool knows whether the pool has been cleared.
        const bool is_over = known == 0 || (is_own(known) && !is_open(known));
        if (!is_over || !last_.compare_exchange_strong(known, now, std::memory_order_relaxed)) {
            last_.store(any, std::memory_order_relaxed);
        }
    }
    // Notes that the calling thread's current pool gets the object.
    void add_to_current() noexcept {
        AutoreleasePool* const pool = pool_for_autorelease();
        // A pool of the library that is open inside `pool`, such as a callback's, gets it first.
        const bool is_ours = pool != nullptr && (pool->is_fifo_ || rp_pool_is_current(&pool->pool_));
        add(is_ours ? pool : nullptr);
    }
    bool may_be_in_pools() const noexcept {
        const std::uint64_t known = last_.load(std::memory_order_relaxed);
        return known != 0 && (known == any || (is_own(known) && is_open(known)));
    }

private:
    static constexpr std::uint64_t any = ~std::uint64_t{0};

    static bool is_own(std::uint64_t era) noexcept { return (era ^ own_pools().era) >> era_bits == 0; }

    // Returns whether a pool of this thread is still in `era`, an era of this thread.
    static bool is_open(std::uint64_t era) noexcept {
        const AutoreleasePool* pool = own_pools().top;
        while (pool != nullptr && pool->era_ != era) {
            pool = pool->below_;
        }
        return pool != nullptr;
    }

    // The era of the only pool that may have the object; 0 if none may, `any` if others may.
    std::atomic<std::uint64_t> last_{0};
};

} // namespace cocos2d::rp_v3::rp_detail

namespace cocos2d {

class CCObject;
class CCNode;
class CCEvent;
class CCDataVisitor;

// Carries the copy that the object's copyWithZone makes to the copyWithZone of its base classes.
class CCZone {
public:
    CCObject* m_pCopyObject;
    explicit CCZone(CCObject* object = nullptr) : m_pCopyObject(object) {}
};

// An object that can be copied.
class CCCopying {
public:
    virtual CCObject* copyWithZone(CCZone*) {
        RP_COCOS_ASSERT(false, "not implement");
        return nullptr;
    }

protected:
    ~CCCopying() = default;
};

// A counted object, as Ref is.
class CCObject : public rp_v3::Ref, public CCCopying {
public:
    unsigned int m_uID = static_cast<unsigned int>(rp_v3::rp_detail::next_id());
    int m_nLuaID = 0;

    CCObject() = default;
    CCObject(const CCObject& other) : rp_v3::Ref(other), CCCopying(other) {}
    CCObject& operator=(const CCObject&) { return *this; }
#ifdef RP_COCOS_ADOPTED
    // Tells the script engine: see cocos2d.hpp.
    ~CCObject() override;
#else
    ~CCObject() override = default;
#endif

    // Leaves the last reference to the calling thread's pools, if they have the object.
    void release() {
        if (getReferenceCount() != 1 || !rp_eras_.may_be_in_pools()
            || !rp_v3::PoolManager::getInstance()->isObjectInPools(this)) {
            rp_v3::Ref::release();
        }
    }
    // Moves a reference into the calling thread's current pool.
    CCObject* autorelease() {
        // Notes the era first: the object may end at once if the thread is ending and has no pool.
        rp_eras_.add_to_current();
        rp_v3::Ref::autorelease();
        return this;
    }
    CCObject* copy() { return copyWithZone(nullptr); }
    unsigned int retainCount() const { return getReferenceCount(); }
    bool isSingleReference() const { return getReferenceCount() == 1; }
    virtual bool isEqual(const CCObject* object) { return this == object; }
    virtual void acceptVisitor(CCDataVisitor& visitor) { RP_COCOS_VISIT(visitor); }
    virtual void update(float) {}

private:
    friend class CCAutoreleasePool;
    friend class CCPoolManager;

    rp_v3::rp_detail::Eras rp_eras_;
};

using SEL_SCHEDULE = void (CCObject::*)(float);
using SEL_CallFunc = void (CCObject::*)();
using SEL_CallFuncN = void (CCObject::*)(CCNode*);
using SEL_CallFuncND = void (CCObject::*)(CCNode*, void*);
using SEL_CallFuncO = void (CCObject::*)(CCObject*);
using SEL_MenuHandler = void (CCObject::*)(CCObject*);
using SEL_EventHandler = void (CCObject::*)(CCEvent*);
using SEL_Compare = int (CCObject::*)(CCObject*);

// A pool. v2 makes such pools by CCPoolManager.
class CCAutoreleasePool : public rp_v3::AutoreleasePool {
public:
    using AutoreleasePool::AutoreleasePool;
    void addObject(CCObject* object) {
        if (object != nullptr) {
            object->rp_eras_.add(this);
        }
        AutoreleasePool::addObject(object);
    }
    // Adds a reference for the caller; the object stays in the pool.
    void removeObject(CCObject* object) {
        if (contains(object)) {
            object->retain();
        }
    }
};

// The pools of the calling thread.
class CCPoolManager {
public:
    static CCPoolManager* sharedPoolManager() {
        static CCPoolManager manager;
        return &manager;
    }
    static void purgePoolManager() { rp_v3::PoolManager::destroyInstance(); }

    void push() {
        // Makes the root pool first, so that it ends last.
        rp_v3::rp_detail::need_root();
        static thread_local ThreadEnd end;
        static_cast<void>(end);
        top() = new Pushed{{}, top()};
    }
    // Closes the pool that was pushed last; without any, clears the root pool.
    void pop() {
        if (!close_top()) {
            rp_v3::PoolManager::destroyInstance();
        }
    }
    // Clears all pools of the thread, from the innermost one.
    void finalize() {
        for (Pushed* at = top(); at != nullptr; at = at->below) {
            at->pool.clear();
        }
        rp_v3::PoolManager::destroyInstance();
    }
    void addObject(CCObject* object) {
        rp_v3::rp_detail::need_root();
        RP_COCOS_ASSERT(object != nullptr, "The object should not be nullptr");
        if (object != nullptr) {
            object->autorelease();
        }
    }
    // Adds a reference for the caller; the object stays in its pool.
    void removeObject(CCObject* object) {
        if (rp_v3::PoolManager::getInstance()->isObjectInPools(object)) {
            object->retain();
        }
    }

private:
    CCPoolManager() = default;

    // A pool that was pushed.
    struct Pushed {
        CCAutoreleasePool pool;
        Pushed* below;
    };

    // Closes the pools that the thread has not popped when it ends.
    struct ThreadEnd {
        ~ThreadEnd() {
            while (close_top()) {
            }
        }
    };

    // The thread-local has no destructor, so it can be used while the thread ends.
    static Pushed*& top() {
        static thread_local Pushed* innermost = nullptr;
        return innermost;
    }

    // Closes the innermost pool; returns whether there was one. Destructors may push and pop.
    static bool close_top() {
        Pushed* const last = top();
        if (last == nullptr) {
            return false;
        }
        top() = last->below;
        delete last;
        return true;
    }
};

} // namespace cocos2d

// Uses casts of C, as programs of v2 pass functions of other signatures.
#ifndef schedule_selector
#define schedule_selector(F) (cocos2d::SEL_SCHEDULE)(&F)
#define callfunc_selector(F) (cocos2d::SEL_CallFunc)(&F)
#define callfuncN_selector(F) (cocos2d::SEL_CallFuncN)(&F)
#define callfuncND_selector(F) (cocos2d::SEL_CallFuncND)(&F)
#define callfuncO_selector(F) (cocos2d::SEL_CallFuncO)(&F)
#define menu_selector(F) (cocos2d::SEL_MenuHandler)(&F)
#define event_selector(F) (cocos2d::SEL_EventHandler)(&F)
#define compare_selector(F) (cocos2d::SEL_Compare)(&F)
#endif

#endif
