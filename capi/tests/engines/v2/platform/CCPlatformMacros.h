// The shape of Cocos2d-x v2 in a few lines: see v3/platform/CCPlatformMacros.h.
#pragma once
#include <cassert>
#define CC_DLL
#define CC_ASSERT(c) assert(c)
#define NS_CC_BEGIN namespace cocos2d {
#define NS_CC_END }
#define USING_NS_CC using namespace cocos2d
#define CREATE_FUNC(T)                                                                                 \
    static T* create() {                                                                               \
        T* made = new T();                                                                             \
        made->autorelease();                                                                           \
        return made;                                                                                   \
    }
#define NODE_FUNC(T)
#define CC_SAFE_DELETE(p) delete (p), (p) = NULL
#define CC_SAFE_DELETE_ARRAY(p) delete[] (p), (p) = NULL
#define CC_SAFE_RETAIN(p) (p) ? (p)->retain() : (void)0
#define CC_SAFE_RELEASE(p) (p) ? (p)->release() : (void)0
#define CC_SAFE_RELEASE_NULL(p) (p) ? (p)->release() : (void)0, (p) = NULL
#define CC_BREAK_IF(c) if (c) break
#define CC_SYNTHESIZE_RETAIN(T, NAME, FUNCTION)
