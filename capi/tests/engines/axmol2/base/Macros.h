#pragma once
#ifndef AXASSERT
#if _AX_DEBUG > 0
#define AXASSERT(cond, msg) AX_ASSERT(cond)
#else
#define AXASSERT(cond, msg)
#endif
#define CCAssert AXASSERT
#endif
#include "base/Config.h"
