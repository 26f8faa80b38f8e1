// The memory interface of axmol 2 on releasepool: see cocos2d.hpp. Its counted class is ax::Object, which is called
// ax::Ref if the include path has the headers of axmol 2.0 or 2.1; without an engine, both are names of it.
#ifndef RELEASEPOOL_AXMOL_HPP
#define RELEASEPOOL_AXMOL_HPP

#ifdef RELEASEPOOL_COCOS2D_HPP
#error "a program includes axmol.hpp or cocos2d.hpp, not both"
#endif

#define RP_COCOS_NAMESPACE ax
#if __has_include("platform/PlatformMacros.h") && __has_include("base/Config.h") && __has_include("base/Ref.h") \
    && !__has_include("base/Object.h")
#define RP_COCOS_REF Ref
#else
#define RP_COCOS_REF Object
#endif
#define RP_COCOS_ROOT_NAME "ax autorelease pool"
#define RP_COCOS_AXMOL2

#include "cocos2d.hpp"

#ifndef RP_COCOS_IN_ENGINE
namespace ax {

using Ref = Object;

} // namespace ax
#endif

namespace axstd {

template <class T>
inline constexpr bool is_ref_counted_v
    = std::is_base_of_v<ax::RP_COCOS_REF, std::remove_cv_t<std::remove_pointer_t<T>>>;

} // namespace axstd

#ifndef AX_OBJECT_LEAK_DETECTION
#define AX_OBJECT_LEAK_DETECTION 0
#endif
#ifndef AX_REF_LEAK_DETECTION
#define AX_REF_LEAK_DETECTION 0
#endif
#ifndef AX_CALLFUNC_SELECTOR
#define AX_CALLFUNC_SELECTOR(F) static_cast<ax::SEL_CallFunc>(&F)
#define AX_CALLFUNCN_SELECTOR(F) static_cast<ax::SEL_CallFuncN>(&F)
#define AX_CALLFUNCND_SELECTOR(F) static_cast<ax::SEL_CallFuncND>(&F)
#define AX_CALLFUNCO_SELECTOR(F) static_cast<ax::SEL_CallFuncO>(&F)
#define AX_MENU_SELECTOR(F) static_cast<ax::SEL_MenuHandler>(&F)
#define AX_SCHEDULE_SELECTOR(F) static_cast<ax::SEL_SCHEDULE>(&F)
#endif

// The engine, too, defines each of these groups as a whole.
#ifndef AX_ASSERT
#define AX_ASSERT(condition) assert(condition)
#endif
#ifndef AX_BREAK_IF
#define AX_BREAK_IF(condition) CC_BREAK_IF(condition)
#define AX_SAFE_DELETE(p) CC_SAFE_DELETE(p)
#define AX_SAFE_DELETE_ARRAY(p) CC_SAFE_DELETE_ARRAY(p)
#define AX_SAFE_RETAIN(p) CC_SAFE_RETAIN(p)
#define AX_SAFE_RELEASE(p) CC_SAFE_RELEASE(p)
#define AX_SAFE_RELEASE_NULL(p) CC_SAFE_RELEASE_NULL(p)
#define AX_SYNTHESIZE_RETAIN(TYPE, NAME, FUNCTION) CC_SYNTHESIZE_RETAIN(TYPE, NAME, FUNCTION)
#endif
#ifndef NS_AX_BEGIN
#define NS_AX_BEGIN namespace ax {
#define NS_AX_END }
#define USING_NS_AX using namespace ax
#endif

#endif
