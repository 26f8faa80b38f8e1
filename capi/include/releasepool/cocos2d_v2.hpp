// The memory interface of Cocos2d-x v2 on releasepool: CCObject, CCCopying, CCZone, CCAutoreleasePool and
// CCPoolManager, beside that of v3 (cocos2d.hpp), which says what changes for a program.
//
// * CCPoolManager::push and pop belong to the calling thread. `pop` without a `push` clears the thread's root
//   pool, as v2's main loop has it do after each frame.
// * A pool owns its entries, so an object cannot die while a pool has it, and m_uAutoReleaseCount is gone.
//   `removeObject` gives the pool's reference to the caller; the object stays in the pool until it is drained.
#ifndef RELEASEPOOL_COCOS2D_V2_HPP
#define RELEASEPOOL_COCOS2D_V2_HPP

#include "cocos2d.hpp"

#ifndef CCAssert
#define CCAssert(condition, message) CCASSERT(condition, message)
#endif

namespace cocos2d {

class CCObject;

// What a copy is made of.
class CCZone {
public:
    CCObject* m_pCopyObject;
    explicit CCZone(CCObject* object = nullptr) : m_pCopyObject(object) {}
};

// An object that can be copied.
class CCCopying {
public:
    virtual CCObject* copyWithZone(CCZone*) {
        CCAssert(false, "not implement");
        return nullptr;
    }

protected:
    ~CCCopying() = default;
};

// A counted object, as Ref is.
class CCObject : public Ref, public CCCopying {
public:
    unsigned int m_uID = next_id();
    int m_nLuaID = 0;

    CCObject() = default;
    CCObject(const CCObject& other) : Ref(other), CCCopying(other) {}
    CCObject& operator=(const CCObject&) { return *this; }
    ~CCObject() override = default;

    // Moves a reference into the calling thread's current pool.
    CCObject* autorelease() {
        Ref::autorelease();
        return this;
    }
    CCObject* copy() { return copyWithZone(nullptr); }
    unsigned int retainCount() const { return getReferenceCount(); }
    bool isSingleReference() const { return getReferenceCount() == 1; }
    virtual bool isEqual(const CCObject* object) { return this == object; }
    virtual void update(float) {}

private:
    static unsigned int next_id() {
        static std::atomic<unsigned int> last{0};
        return ++last;
    }
};

// A pool. v2 makes such pools by CCPoolManager.
class CCAutoreleasePool : public AutoreleasePool {
public:
    using AutoreleasePool::AutoreleasePool;
    // Gives the pool's reference to the caller.
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
    static void purgePoolManager() { PoolManager::destroyInstance(); }

    void push() {
        // The root pool first, so that it ends last.
        detail::need_root();
        static thread_local ThreadEnd end;
        static_cast<void>(end);
        top() = new Pushed{{}, top()};
    }
    // Closes the pool that was pushed last; without any, clears the root pool.
    void pop() {
        if (!close_top()) {
            PoolManager::destroyInstance();
        }
    }
    // Clears all pools of the thread, from the innermost one.
    void finalize() {
        for (Pushed* at = top(); at != nullptr; at = at->below) {
            at->pool.clear();
        }
        PoolManager::destroyInstance();
    }
    void addObject(CCObject* object) { PoolManager::getInstance()->getCurrentPool()->addObject(object); }
    // Gives a pool's reference to the caller.
    void removeObject(CCObject* object) {
        if (PoolManager::getInstance()->isObjectInPools(object)) {
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

    // Closes the pools that a thread leaves.
    struct ThreadEnd {
        ~ThreadEnd() {
            while (close_top()) {
            }
        }
    };

    // Without a destructor, so that it can be used while the thread ends.
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

#endif
