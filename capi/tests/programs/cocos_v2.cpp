// A program as it is written for Cocos2d-x v2.
#include "releasepool/cocos2d_v2.hpp"

#include "check.h"

#include <thread>

USING_NS_CC;

static int alive = 0;

namespace cocos2d {

// A class that the header only declares.
class CCNode : public CCObject {
public:
    CCNode() : m_pChild(nullptr) { ++alive; }
    ~CCNode() override {
        CC_SAFE_RELEASE(m_pChild);
        --alive;
    }
    virtual bool init() { return true; }
    CREATE_FUNC(CCNode)
    NODE_FUNC(CCNode)
    CCObject* copyWithZone(CCZone*) override { return new CCNode(); }
    CC_SYNTHESIZE_RETAIN(CCNode*, m_pChild, Child)
};

} // namespace cocos2d

// Does what the engine's main loop does after each frame.
static void end_of_frame() { CCPoolManager::sharedPoolManager()->pop(); }

// Pushes a pool, fills it and pops it when it dies.
class Nesting : public CCObject {
public:
    ~Nesting() override {
        CCPoolManager::sharedPoolManager()->push();
        CCNode::node();
        CCPoolManager::sharedPoolManager()->pop();
    }
};

static void frames() {
    for (int frame = 0; frame < 3; ++frame) {
        CCNode* node = CCNode::create();
        CHECK(node->retainCount() == 1 && node->isSingleReference());
        node->retain();
        CHECK(!node->isSingleReference() && alive == frame + 1);
        end_of_frame();
        CHECK(node->retainCount() == 1 && alive == frame + 1);
        if (frame == 2) {
            node->release();
            CHECK(alive == 2);
        }
    }
}

static void pools() {
    CCPoolManager* const manager = CCPoolManager::sharedPoolManager();
    const int before = alive;
    CCNode::create();
    manager->push();
    CCNode* const inner = CCNode::node();
    CHECK(alive == before + 2);
    manager->push();
    (new Nesting())->autorelease();
    manager->pop();
    CHECK(alive == before + 2);
    inner->retain();
    manager->pop();
    CHECK(alive == before + 2 && inner->retainCount() == 1);
    manager->push();
    manager->addObject(inner);
    manager->removeObject(inner);
    manager->finalize();
    CHECK(inner->retainCount() == 1 && alive == before + 1);
    manager->pop();
    CCObject* const copy = inner->copy();
    CHECK(copy != inner && copy->m_uID != inner->m_uID && !copy->isEqual(inner) && alive == before + 2);
    copy->release();
    inner->release();
    CHECK(alive == before);
}

static void members() {
    CCNode* const parent = CCNode::create();
    CCNode* const child = CCNode::create();
    parent->setChild(child);
    CHECK(child->retainCount() == 2);
    parent->setChild(nullptr);
    CHECK(child->retainCount() == 1);
    end_of_frame();
}

// Releases another object too early, in a clear inside a clear.
class TooEarly : public CCObject {
public:
    CCNode* other = nullptr;
    ~TooEarly() override {
        CCPoolManager::sharedPoolManager()->finalize();
        other->release();
        CHECK(other->retainCount() == 1);
    }
};

// The last release leaves an object to the pools that have it.
static void released_too_early() {
    CCPoolManager* const manager = CCPoolManager::sharedPoolManager();
    const int before = alive;
    manager->push();
    CCNode* nodes[8];
    for (CCNode*& node : nodes) {
        node = CCNode::create();
        node->release();
        node->release();
        CHECK(node->retainCount() == 1);
    }
    CCNode* const added = new CCNode();
    manager->addObject(added);
    added->retain();
    added->release();
    added->release();
    // These objects would get the memory of `nodes` and `added`, if that had been freed.
    static CCNode* others[1000];
    for (CCNode*& other : others) {
        other = new CCNode();
    }
    manager->pop();
    CHECK(alive == before + 1000);
    for (CCNode* const other : others) {
        other->release();
    }
    // A parent that dies in a drain releases its child. If the drain has released the child's own entry
    // already, no pool may keep the child.
    for (const int number : {1, 2, 10, 1000}) {
        for (int order = 0; order < 2; ++order) {
            manager->push();
            for (int i = 0; i < number; ++i) {
                CCNode* const first = CCNode::create();
                CCNode* const second = CCNode::create();
                (order == 0 ? first : second)->setChild(order == 0 ? second : first);
            }
            manager->pop();
            CHECK(alive == before);
        }
    }
    // An object is in two pools, of which the inner one is drained.
    manager->push();
    CCNode* const twice = CCNode::create();
    manager->push();
    twice->retain();
    twice->autorelease();
    manager->pop();
    twice->release();
    CHECK(twice->retainCount() == 1);
    manager->pop();
    CHECK(alive == before);
#ifndef RP_COCOS_FIFO
    CCNode* const waiting = CCNode::create();
    auto* const too_early = new TooEarly;
    too_early->other = waiting;
    too_early->autorelease();
    end_of_frame();
    CHECK(alive == before);
#endif
    // A drained pool has no entries, so it does not keep the object.
    manager->push();
    CCNode* const kept = CCNode::create();
    kept->retain();
    manager->pop();
    CHECK(alive == before + 1 && kept->retainCount() == 1);
    kept->release();
    CHECK(alive == before);
    // Each thread finds only its own pools.
    CCNode* const lent = CCNode::create();
    std::thread([lent] {
        lent->retain();
        lent->release();
        CCNode* const own = CCNode::create();
        own->release();
        end_of_frame();
    }).join();
    CHECK(lent->retainCount() == 1 && alive == before + 1);
    end_of_frame();
    CHECK(alive == before);
}

#ifndef RP_COCOS_FIFO
// Clears all pools when the end of a callback ends it, and then releases another object too early.
class ClearsInCallback : public CCObject {
public:
    CCNode* other = nullptr;
    ~ClearsInCallback() override {
        CCPoolManager::sharedPoolManager()->finalize();
        other->release();
        CHECK(other->retainCount() == 1);
    }
};
#endif

// The last release leaves an object to the pool that has it, which may not be v2's innermost.
static void in_pools_of_others() {
    CCPoolManager* const manager = CCPoolManager::sharedPoolManager();
    const int before = alive;
    // Another thread, too, has had the object in a pool.
    manager->push();
    CCNode* const shared = CCNode::create();
    shared->retain();
    std::thread([shared, manager] {
        manager->push();
        shared->autorelease();
        manager->pop();
    }).join();
    shared->release();
    CHECK(alive == before + 1);
    manager->pop();
    CHECK(alive == before);
#ifndef RP_COCOS_FIFO
    // Clears the pool of v2 while the callback's pool is open inside it.
    manager->push();
    {
        rp::CallbackScope callback;
        CCNode* const node = CCNode::create();
        manager->finalize();
        node->release();
        CHECK(alive == before + 1);
    }
    CHECK(alive == before);
    // A pool that the end of a callback has closed is still the innermost one of v2.
    {
        rp::CallbackScope callback;
        manager->push();
    }
    CCNode* const node = CCNode::create();
    manager->pop();
    node->release();
    CHECK(alive == before + 1);
    manager->pop();
    CHECK(alive == before);
    {
        rp::CallbackScope callback;
        manager->push();
        auto* const clears = new ClearsInCallback;
        clears->other = CCNode::create();
        clears->autorelease();
    }
    CHECK(alive == before);
    manager->pop();
#endif
}

int main() {
    frames();
    pools();
    members();
    released_too_early();
    in_pools_of_others();
    // A thread that leaves pools open.
    const int before = alive;
    std::thread([] {
        CCPoolManager::sharedPoolManager()->push();
        (new Nesting())->autorelease();
    }).join();
    CHECK(alive == before);
    std::puts("ok");
    return 0;
}
