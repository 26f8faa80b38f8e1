// Uses these headers as the engine and games of v3 and v4 do.
#ifdef MACROS_FIRST
#include "base/ccMacros.h"
#endif
#include "base/CCVector.h"

#include "../../programs/check.h"
#include <cstddef>

NS_CC_BEGIN

class CC_DLL Node : public Ref {
public:
    CREATE_FUNC(Node)
    Vector<Node*> children;
    int hits = 0;
    void hit() { ++hits; }
    void hitBy(Node* by) { hits += by == this; }
    void hitWith(Node* by, void* with) { hits += by == with; }
    void hitFrom(Ref* from) { hits += from == this; }
    void wait(float seconds) { hits += static_cast<int>(seconds); }
};

NS_CC_END

// The engine's Ref has no base class, so a game's own names are not hidden in its classes.
class Object {
public:
    int weight = 3;
};
struct Newest {};
static int payload() { return 4; }
static int allocate(std::size_t) { return 5; }
static int end(const Object&) { return 6; }

USING_NS_CC;

class Hero : public Node {
public:
    Object carried;
    Newest* newest = nullptr;
    int all() const { return carried.weight + payload() + allocate(1) + end(carried); }
};

static std::size_t warnings;

int main() {
    CHECK(rp_set_event_hook([](const char*, void*) { ++warnings; }, nullptr) == RP_OK);
    // The main thread's pool opens by itself.
    Node* const node = Node::create();
    CHECK(PoolManager::getInstance()->isObjectInPools(node) && warnings == 0);
    SEL_CallFunc const call = CC_CALLFUNC_SELECTOR(Node::hit);
    SEL_CallFuncN const call_n = callfuncN_selector(Node::hitBy);
    SEL_CallFuncND const call_nd = CC_CALLFUNCND_SELECTOR(Node::hitWith);
    SEL_CallFuncO const call_o = callfuncO_selector(Node::hitFrom);
    SEL_MenuHandler const menu = CC_MENU_SELECTOR(Node::hitFrom);
    SEL_SCHEDULE const schedule = schedule_selector(Node::wait);
    Ref* const target = node;
    (target->*call)();
    (target->*call_n)(node);
    (target->*call_nd)(node, node);
    (target->*call_o)(node);
    (target->*menu)(node);
    (target->*schedule)(1);
    CHECK(node->hits == 6);
    GP_ASSERT(node != nullptr);
    CCAssert(node->hits > 0, "hits");
    CCASSERT(node->hits > 0, "hits");
#if CC_REF_LEAK_DETECTION || !CC_ENABLE_SCRIPT_BINDING
#error "the engine has 0 and 1"
#endif
    Hero hero;
    CHECK(hero.all() == 18 && hero._ID != 0 && hero._ID != node->_ID && hero._luaID == 0 && !hero._rooted);
    node->children.pushBack(Hero::create());
    PoolManager::getInstance()->getCurrentPool()->clear();
    return 0;
}
