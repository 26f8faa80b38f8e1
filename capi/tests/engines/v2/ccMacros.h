#pragma once
#ifndef CCAssert
#define CCAssert(cond, msg) ((void)(cond))
#endif
