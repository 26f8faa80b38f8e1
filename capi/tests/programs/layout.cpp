// Two files of one program agree about classes and their code, although their settings differ. Both are
// compiled from this text. The file with PART sets the engine's configuration before it includes
// the header, the other one afterwards. FIFO is defined for one of the two.
#ifdef PART
#define CC_ENABLE_SCRIPT_BINDING 1
#define CC_REF_LEAK_DETECTION 1
#define COCOS2D_DEBUG 1
#endif
#ifdef FIFO
#define RP_COCOS_FIFO
#endif
#include "releasepool/cocos2d.hpp"

#include "check.h"

using namespace cocos2d;

struct Hero : Ref {
    int lives = 3;
    int gold = 7;
};

// Writes its number when it dies.
struct Numbered : Ref {
    explicit Numbered(int n) : number(n) {}
    ~Numbered() override { order += std::to_string(number); }
    const int number;
    static std::string order;
};

Hero* hero_of_part();
std::size_t sizes_of_part();
void release_in_part();

#ifdef PART

Hero* hero_of_part() { return new Hero; }
std::size_t sizes_of_part() { return sizeof(Hero) * 1000 + sizeof(AutoreleasePool); }
void release_in_part() {
    AutoreleasePool pool;
    for (int i = 1; i < 4; ++i) {
        (new Numbered(i))->autorelease();
    }
}

#else
#define CC_ENABLE_SCRIPT_BINDING 0

std::string Numbered::order;

int main() {
    Hero* const hero = hero_of_part();
    CHECK(hero->lives == 3 && hero->gold == 7 && hero->_ID != 0 && hero->_scriptObject == nullptr);
    hero->release();
    CHECK(sizes_of_part() == sizeof(Hero) * 1000 + sizeof(AutoreleasePool));
    {
        AutoreleasePool pool;
        for (int i = 1; i < 4; ++i) {
            (new Numbered(i))->autorelease();
        }
    }
    release_in_part();
    CHECK(Numbered::order == "123123");
    return 0;
}

#endif
