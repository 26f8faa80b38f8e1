#include <releasepool/cocos2d_v2.hpp>
