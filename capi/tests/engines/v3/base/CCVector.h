#include <releasepool/cocos2d.hpp>
