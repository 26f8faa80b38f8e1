// The shape of axmol 2 in a few lines: see v3/platform/CCPlatformMacros.h.
#pragma once
#include <cassert>
#define AX_DLL
#define AX_ASSERT(c) assert(c)
#define NS_AX_BEGIN namespace ax {
#define NS_AX_END }
#define USING_NS_AX using namespace ax
#define CREATE_FUNC(T)                                                                                 \
    static T* create() {                                                                               \
        T* made = new T();                                                                             \
        made->autorelease();                                                                           \
        return made;                                                                                   \
    }
#define AX_BREAK_IF(c) if (c) break
#define AX_SAFE_RETAIN(p) (p) ? (p)->retain() : (void)0
#define AX_SAFE_RELEASE(p) (p) ? (p)->release() : (void)0
