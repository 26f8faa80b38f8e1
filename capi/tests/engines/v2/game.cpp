// Uses these headers as the engine and games of v2 do.
#ifdef MACROS_FIRST
#include "ccMacros.h"
#endif
#include "cocoa/CCObject.h"
#include "ccMacros.h"

#include "../../programs/check.h"

NS_CC_BEGIN

class CC_DLL CCEvent : public CCObject {};
class CC_DLL CCNode : public CCObject {
public:
    CREATE_FUNC(CCNode)
    int hits = 0;
    void hit() { ++hits; }
    void hitBy(CCNode* by) { hits += by == this; }
    void hitWith(CCNode* by, void* with) { hits += by == with; }
    void hitFrom(CCObject* from) { hits += from == this; }
    void wait(float seconds) { hits += static_cast<int>(seconds); }
    void listen(CCEvent* event) { hits += event == NULL; }
    int compare(CCObject* other) { return other == this ? 0 : 1; }
};
class CC_DLL CCString : public CCObject {
public:
    virtual void acceptVisitor(CCDataVisitor& visitor) { visitor.visitObject(this); }
};

NS_CC_END

USING_NS_CC;

// v2 has no classes of these names, and no base class of CCObject but CCCopying.
class Map {};
class Node {};
class Object {};
class Ref {};

class Hero : public CCNode {
public:
    Map* map = NULL;
    Node* node = NULL;
    Object* carried = NULL;
    Ref* ref = NULL;
};

class Counts : public CCDataVisitor {
public:
    int visits = 0;
    virtual void visitObject(const CCObject* object) { visits += object != NULL; }
};

static std::size_t warnings;

int main() {
    CHECK(rp_set_event_hook([](const char*, void*) { ++warnings; }, nullptr) == RP_OK);
    CCNode* const node = CCNode::create();
    CCObject* const target = node;
    SEL_CallFunc const call = callfunc_selector(CCNode::hit);
    SEL_CallFuncN const call_n = callfuncN_selector(CCNode::hitBy);
    SEL_CallFuncND const call_nd = callfuncND_selector(CCNode::hitWith);
    SEL_CallFuncO const call_o = callfuncO_selector(CCNode::hitFrom);
    SEL_MenuHandler const menu = menu_selector(CCNode::hitFrom);
    SEL_SCHEDULE const schedule = schedule_selector(CCNode::wait);
    SEL_EventHandler const event = event_selector(CCNode::listen);
    SEL_Compare const compare = compare_selector(CCNode::compare);
    (target->*call)();
    (target->*call_n)(node);
    (target->*call_nd)(node, node);
    (target->*call_o)(node);
    (target->*menu)(node);
    (target->*schedule)(1);
    (target->*event)(NULL);
    CHECK(node->hits == 7 && (target->*compare)(node) == 0);
    Counts counts;
    Hero hero;
    CCString text;
    hero.acceptVisitor(counts);
    text.acceptVisitor(counts);
    CCAssert(counts.visits == 2, "visits");
    CHECK(counts.visits == 2 && hero.m_uID != text.m_uID && warnings == 0);
    CCPoolManager::sharedPoolManager()->pop();
    return 0;
}
