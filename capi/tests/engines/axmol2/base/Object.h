#include <releasepool/axmol.hpp>
