// The memory interface of axmol 2 on releasepool: see cocos2d.hpp.
#ifndef RELEASEPOOL_AXMOL_HPP
#define RELEASEPOOL_AXMOL_HPP

#ifdef RELEASEPOOL_COCOS2D_HPP
#error "a program includes axmol.hpp or cocos2d.hpp, not both"
#endif

#define RP_COCOS_NAMESPACE ax
#define RP_COCOS_REF Object
#define RP_COCOS_ROOT_NAME "ax autorelease pool"

#ifndef AX_ASSERT
#define AX_ASSERT(condition) assert(condition)
#endif

#include "cocos2d.hpp"

#ifndef AXASSERT
#define AXASSERT(condition, message) CCASSERT(condition, message)
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
#define NS_AX_BEGIN NS_CC_BEGIN
#define NS_AX_END NS_CC_END
#define USING_NS_AX USING_NS_CC
#endif

#endif
