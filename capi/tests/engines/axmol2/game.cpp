// Uses these headers as the engine and games of axmol 2 do. The test also compiles it with the
// names of axmol 2.1, whose class is called Ref.
#ifdef MACROS_FIRST
#include "base/Macros.h"
#endif
#ifdef AXMOL_2_1
#include "base/Ref.h"
using Base = ax::Ref;
#else
#include "base/Object.h"
using Base = ax::Object;
#endif

#include "../../programs/check.h"

NS_AX_BEGIN

class AX_DLL Node : public Base {
public:
    CREATE_FUNC(Node)
    int hits = 0;
    void hitBy(Node* by) { hits += by == this; }
    void hitWith(Node* by, void* with) { hits += by == with; }
};

NS_AX_END

// Macros of a game that comes from Cocos2d-x, and its own classes.
#define CC_SAFE_RETAIN AX_SAFE_RETAIN
#define CC_SAFE_RELEASE(p) AX_SAFE_RELEASE(p)
class Object {};
class Ref {};

class Hero : public ax::Node {
public:
#ifdef AXMOL_2_1
    Object* carried = nullptr;
#else
    Ref* carried = nullptr;
#endif
};

static_assert(axstd::is_ref_counted_v<Hero*> && axstd::is_ref_counted_v<const Hero>);
static_assert(!axstd::is_ref_counted_v<::Object*>);

static std::size_t warnings;

int main() {
    CHECK(rp_set_event_hook([](const char*, void*) { ++warnings; }, nullptr) == RP_OK);
    ax::Node* const node = ax::Node::create();
    ax::SEL_CallFuncN const call_n = AX_CALLFUNCN_SELECTOR(ax::Node::hitBy);
    ax::SEL_CallFuncND const call_nd = AX_CALLFUNCND_SELECTOR(ax::Node::hitWith);
    Base* const target = node;
    (target->*call_n)(node);
    (target->*call_nd)(node, node);
    CHECK(node->hits == 2 && warnings == 0);
    const ax::RefPtr<ax::Node> made{ax::ReferencedObject<Hero>{new Hero}};
    CHECK(made->getReferenceCount() == 1);
    ax::Map<std::string, ax::Node*, std::hash<std::string>, std::equal_to<std::string>> map;
    map.insert("hero", made);
    AXASSERT(map.size() == 1, "size");
    CCAssert(map.size() == 1, "size");
    CHECK(map.at("hero") == made && made->getReferenceCount() == 2);
#if AX_OBJECT_LEAK_DETECTION || !AX_ENABLE_SCRIPT_BINDING
#error "the engine has 0 and 1"
#endif
    return 0;
}
