// The component under test looks at a made-up machine; the one that is installed has no such variable.
#include <cstdlib>

#include "hwloc/machine_root.hpp"

namespace gputopo::hwloc_component {

std::string machine_root() {
  const char* root = std::getenv("GPUTOPO_TEST_ROOT");
  return root != nullptr ? root : "/nonexistent";
}

}  // namespace gputopo::hwloc_component
