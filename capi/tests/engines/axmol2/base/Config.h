#pragma once
#ifndef AX_ENABLE_SCRIPT_BINDING
#define AX_ENABLE_SCRIPT_BINDING 1
#endif
