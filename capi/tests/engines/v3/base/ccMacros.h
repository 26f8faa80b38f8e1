#pragma once
#include "base/CCConsole.h"
#include "base/ccConfig.h"
#ifndef CCASSERT
#if COCOS2D_DEBUG > 0
#define CCASSERT(cond, msg) do { if (!(cond)) { std::puts(msg); CC_ASSERT(cond); } } while (0)
#else
#define CCASSERT(cond, msg)
#endif
#define GP_ASSERT(cond) CCASSERT(cond, "")
#define CCAssert CCASSERT
#endif
