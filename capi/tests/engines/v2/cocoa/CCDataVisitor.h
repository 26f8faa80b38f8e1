#pragma once
#include "platform/CCPlatformMacros.h"
NS_CC_BEGIN
class CCObject;
class CC_DLL CCDataVisitor {
public:
    virtual ~CCDataVisitor() {}
    virtual void visitObject(const CCObject* object) = 0;
};
NS_CC_END
