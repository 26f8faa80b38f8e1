// Takes the place of the engine's header of this name.
#include "../../../axmol3.hpp"
