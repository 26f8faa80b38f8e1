// The memory interface of axmol 3 on releasepool: Object, Clonable, AutoreleasePool, PoolManager, RefPtr and
// WeakPtr, in namespace ax. The folder "axmol3" beside this file has the engine's headers of these classes
// (axmol/base/Object.h and so on): put it before the engine's folder on the include path.
//
// What changes for a program is what cocos2d.hpp says, and:
//
// * WeakPtr works on every thread, and objects with weak pointers may be ended by `delete`.
// * getObjectID: the numbers of objects ascend on each thread, not across threads.
// * `assign` and `adopt` change the variable before they release what it held.
// * The script engine is told of an object's end if adopt.sh has adopted the engine; else dispose may do so.
#ifndef RELEASEPOOL_AXMOL3_HPP
#define RELEASEPOOL_AXMOL3_HPP

#include "../releasepool.hpp"

// Includes the engine's settings and tags if the include path has the engine.
#if __has_include("axmol/platform/PlatformMacros.h")
#include "axmol/platform/PlatformMacros.h"
#endif
#if __has_include("axmol/base/Config.h")
#include "axmol/base/Config.h"
#endif
#if __has_include("axmol/tlx/memory.hpp")
#include "axmol/tlx/memory.hpp"
// Declares the namespace by both of its names: in axmol, it was axstd before it became tlx.
namespace tlx {}
namespace axstd {}
#else
namespace tlx {

struct retain_object_t {};
struct adopt_object_t {};
inline constexpr retain_object_t retain_object{};
inline constexpr adopt_object_t adopt_object{};

} // namespace tlx
namespace axstd {}
#endif

#ifndef AX_OBJECT_LEAK_DETECTION
#define AX_OBJECT_LEAK_DETECTION 0
#endif

namespace ax {

namespace rp_detail {

inline std::uint64_t next_id() noexcept;

namespace tags {

using namespace tlx;
using namespace axstd;

} // namespace tags

} // namespace rp_detail

// A counted object. It begins with one reference, which autorelease or release gives up.
class Object : public rp::Object {
    const std::uint64_t rp_object_id_ = rp_detail::next_id();

public:
#ifdef RP_COCOS_ADOPTED
    // Tells the script engine: see cocos2d.hpp.
    ~Object() override;
#else
    ~Object() override = default;
#endif

    // Makes `target` own a new reference to `object`, and releases what `target` held; returns
    // whether `target` has changed.
    template <class T> static bool assign(T*& target, T* object) {
        if (object != nullptr && target != object) {
            object->retain();
        }
        return adopt(target, object);
    }
    // Makes `target` take over the caller's reference to `object`, and releases what `target` held;
    // returns whether `target` has changed. Takes nothing if `target` is `object`.
    template <class T> static bool adopt(T*& target, T* object) {
        if (target == object) {
            return false;
        }
        if (T* const old = std::exchange(target, object)) {
            old->release();
        }
        return true;
    }

    void retain();
    void release();
    // Moves a reference into the calling thread's current pool.
    Object* autorelease();

    unsigned int getReferenceCount() const;
    // Returns the object's number, which no other object has had.
    std::uint64_t getObjectID() const noexcept { return rp_object_id_; }

    // Lists the objects that are alive, by class, if the library has the feature `leak-detection`; otherwise
    // prints only their number.
    static void printLeaks();

    // As there is an operator new here, rp::make calls `new`, and the object keeps the rp_class
    // that the constructor sets: its `destroy` calls dispose.
    using rp::Object::operator new;
    static void* operator new(std::size_t size) { return rp::Object::operator new(size); }
    // Declared, too, as g++ warns of an operator new without a matching delete.
    using rp::Object::operator delete;
    static void operator delete(void* memory, std::size_t size) noexcept { rp::Object::operator delete(memory, size); }

    // For the engine's script bindings. The members exist even if it has no bindings.
    unsigned int _ID = static_cast<unsigned int>(rp_object_id_);
    int _luaID = 0;

protected:
    Object() { rp::detail::Access::set_class(this, rp_own_class()); }
    // Since 3.0, the engine forbids copies; before, it made some. A copy is a new object.
    Object(const Object&) noexcept : Object() {}
    Object& operator=(const Object&) noexcept { return *this; }

    // The last release calls this before the destructor, when weak pointers find nothing any more.
    // `delete` by hand does not call it.
    virtual void dispose() {}

private:
    static void rp_end(void* payload) noexcept {
        auto* const object = static_cast<Object*>(rp::detail::Access::object(payload));
        object->dispose();
        delete object;
    }

    static const rp_class* rp_own_class() noexcept {
        static const rp_class* const made = rp::detail::Access::new_class_by_new("ax::Object", &rp_end);
        return made;
    }
};

} // namespace ax

#define RP_COCOS_NAMESPACE ax
#define RP_COCOS_REF Object
#define RP_COCOS_ROOT_NAME "axmol autorelease pool"
#define RP_COCOS_EXPLICIT explicit
#define RP_COCOS_TAGS rp_detail::tags
#include "detail/cocos.hpp"

namespace ax {

template <class T> using retain_ptr = RefPtr<T>;

} // namespace ax

namespace tlx {

using ax::const_pointer_cast;
using ax::dynamic_pointer_cast;
using ax::static_pointer_cast;

} // namespace tlx

namespace axstd {

using ax::const_pointer_cast;
using ax::dynamic_pointer_cast;
using ax::static_pointer_cast;

} // namespace axstd

#ifndef AX_CALLFUNC_SELECTOR
#define AX_CALLFUNC_SELECTOR(F) static_cast<ax::SEL_CallFunc>(&F)
#define AX_CALLFUNCN_SELECTOR(F) static_cast<ax::SEL_CallFuncN>(&F)
#define AX_CALLFUNCND_SELECTOR(F) static_cast<ax::SEL_CallFuncND>(&F)
#define AX_CALLFUNCO_SELECTOR(F) static_cast<ax::SEL_CallFuncO>(&F)
#define AX_MENU_SELECTOR(F) static_cast<ax::SEL_MenuHandler>(&F)
#define AX_SCHEDULE_SELECTOR(F) static_cast<ax::SEL_SCHEDULE>(&F)
#endif

// The engine's RefPtr.h includes the macros, too. Last, as their header may include this one.
#if __has_include("axmol/base/Macros.h")
#include "axmol/base/Macros.h"
#endif

#endif
