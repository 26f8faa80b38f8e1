// Includes a header that includes this one, as in the engine.
#pragma once
#include "base/CCRef.h"
#include "base/ccMacros.h"
#include "platform/CCPlatformMacros.h"
NS_CC_BEGIN
class CC_DLL Console : public Ref {};
NS_CC_END
