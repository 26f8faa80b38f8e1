// In the place of the header of axmol 3.
#include "../../../axmol3.hpp"
