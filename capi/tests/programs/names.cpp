// Names of classes in reports: of objects from `new`, on the stack, and under construction.
// Compiled with WITHOUT_RTTI, this is a part of the program that has no RTTI.
#include "check.h"
#include "releasepool.hpp"
#include <cstring>
#include <map>
#include <string>
#include <thread>

rp::Object* make_without_rtti();

#ifdef WITHOUT_RTTI

struct WithoutRtti : rp::Object {
    long values[4] = {};
};
rp::Object* make_without_rtti() { return new WithoutRtti; }

#else

#if defined(__unix__)
#include <sys/mman.h>
#endif

static std::string name_of(const rp::Object* object) {
    char* const text = rp_type_name(rp::Ref<const rp::Object>(object).to_c());
    CHECK(text != nullptr);
    const std::string name = text;
    rp_text_free(text);
    return name;
}

// Returns the name that a report must have.
static std::string named(const char* name) { return RP_TABLE_NAMES ? name : "rp::Object"; }

namespace game {

struct Sprite : rp::Object {
    Sprite() : name_in_constructor(name_of(this)) {}
    std::string name_in_constructor;
    long large[200] = {};
};
struct Player : Sprite {};
template <class T> struct Box : rp::Object {
    T value{};
};
// Second has the rp::Object as its second base, Virtually as a virtual one.
struct Named {
    virtual ~Named() = default;
    std::string text = "a text that is longer than a short string holds";
};
struct Second : Named, Sprite {};
struct Virtually : virtual Sprite {
    int value = 1;
};

} // namespace game

using namespace game;

static void of_objects() {
    rp::AutoreleasePool pool;
    rp::Ref<Sprite> sprite = rp::adopt(new Sprite);
    CHECK(name_of(sprite.get()) == named("game::Sprite"));
    rp::Ref<Sprite> player = rp::adopt<Sprite>(new Player);
    CHECK(name_of(player.get()) == named("game::Player"));
    CHECK(player->name_in_constructor == named("game::Sprite"));
    CHECK(name_of(rp::adopt(new Box<int>).get()) == named("game::Box<int>"));
    CHECK(name_of(rp::adopt(new Second).get()) == named("game::Second"));
#if RP_TABLE_NAMES
    CHECK(name_of(rp::make<Virtually>().get()) == "game::Virtually");
#endif
    const Player on_the_stack;
    CHECK(name_of(&on_the_stack) == named("game::Player"));
    // rp::make gets the name from the compiler, without RTTI.
    CHECK(name_of(rp::make<Player>().get()) == "game::Player");
    CHECK(name_of(rp::make<Player>().get()) != named("rp::Object"));

    rp::autorelease(sprite);
    rp::autorelease(player);
    const std::string dump = pool.dump();
    CHECK(dump.find(named("game::Sprite") + " count 2") != std::string::npos);
    CHECK(dump.find(named("game::Player") + " count 2") != std::string::npos);
}

// Warnings about objects without a pool, and about objects that wait, name each class.
static void of_events() {
    static std::string text;
    CHECK(rp_set_event_hook([](const char* part, void*) { text += part; }, nullptr) == RP_OK);
    CHECK(rp_manager_set_root_watermark(nullptr, 4, false) == RP_OK);
    std::thread([] {
        for (int i = 0; i < 3; ++i) {
            rp::autorelease(rp::adopt(new Sprite));
            rp::autorelease(rp::adopt(new Player));
        }
    }).join();
    CHECK(rp_set_event_hook(nullptr, nullptr) == RP_OK);
    const auto has = [](const std::string& part) { return text.find(part) != std::string::npos; };
    CHECK(has(named("game::Sprite") + " autoreleased") && has(named("game::Player") + " autoreleased"));
    CHECK(has(RP_TABLE_NAMES ? "game::Player (2), game::Sprite (2)" : "rp::Object"));
}

// Returns the number of objects that are alive by their names.
static std::map<std::string, std::size_t> alive() {
    std::map<std::string, std::size_t> found;
    const auto group = [](const rp_leak* leak, void* to) {
        (*static_cast<std::map<std::string, std::size_t>*>(to))[leak->type_name] += leak->objects;
    };
    CHECK(rp_leaks(group, &found, nullptr) == RP_OK);
    return found;
}

static void of_leaks() {
    rp::Ref<rp::Object> kept[5];
    for (rp::Ref<rp::Object>& place : kept) {
        place = rp::adopt(new Player);
    }
    kept[0] = rp::adopt(new Box<std::string>);
    kept[1] = rp::make<Sprite>();
    {
        // Reported as rp::Object: the report does not read memory that is not the library's, as it may have
        // changed.
        const Player on_the_stack;
        std::map<std::string, std::size_t> found = alive();
        CHECK(found["game::Sprite"] == 1);
        CHECK(found["rp::Object"] == (RP_TABLE_NAMES ? 1 : 5));
        if (RP_TABLE_NAMES) {
            CHECK(found["game::Player"] == 3 && found.size() == 4);
            CHECK(found.count(name_of(kept[0].get())) == 1);
        }
    }
#if defined(__unix__)
    // An object whose memory goes without a destructor stays in the list, and is not read.
    void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    ::new (memory) Box<long>;
    CHECK(munmap(memory, 4096) == 0);
    CHECK(alive()["rp::Object"] == (RP_TABLE_NAMES ? 1 : 5));
#endif
}

// Objects begin and end while other threads list them.
static void of_leaks_on_threads() {
    std::thread threads[3];
    for (std::thread& thread : threads) {
        thread = std::thread([] {
            for (int i = 0; i < 2000; ++i) {
                rp::Ref<Sprite> sprite = rp::adopt<Sprite>(i % 2 ? new Player : new Sprite);
                rp::Weak<Sprite> weak(sprite);
                sprite.reset();
                delete new Box<int>;
            }
        });
    }
    for (int i = 0; i < 100; ++i) {
        for (const auto& group : alive()) {
            CHECK(group.first.compare(0, 6, "game::") == 0 || group.first == "rp::Object");
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

int main(int, char** arguments) {
    const char* const way = arguments[1];
    if (std::strcmp(way, "objects") == 0) {
        of_objects();
        of_events();
#ifdef HAS_PART_WITHOUT_RTTI
        rp::Ref<rp::Object> plain = rp::adopt(make_without_rtti());
        CHECK(name_of(plain.get()) == "rp::Object");
        CHECK(name_of(rp::adopt(new Sprite).get()) == "game::Sprite");
#endif
        const rp_class* const known = rp::detail::ClassOf<Sprite>::get();
        CHECK(rp_embedded_name_by(known, [](const void*, char*, std::size_t) {}) == RP_INVALID);
        CHECK(std::strstr(rp_last_error(), "game::Sprite") != nullptr);
    } else if (std::strcmp(way, "leaks") == 0) {
        of_leaks();
        of_leaks_on_threads();
    } else if (std::strcmp(way, "abort") == 0) {
        rp_abort_retain(rp::adopt(new Player).to_c());
    } else if (std::strcmp(way, "release-twice") == 0) {
        void* const player = rp::adopt(new Player).into_c();
        rp_release(player);
        rp_release(player);
    } else if (std::strcmp(way, "held") == 0) {
        // Gives up two references, one of which is the pool's.
        rp::AutoreleasePool pool;
        Player* const player = rp::autorelease(rp::adopt(new Player));
        rp_release(rp::Ref<Player>(player).into_c());
        rp_release(rp::Ref<Player>::from_c(rp::detail::Access::payload(player)).into_c());
    }
    return 0;
}

#endif
