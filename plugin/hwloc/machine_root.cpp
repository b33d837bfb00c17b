#include "hwloc/machine_root.hpp"

namespace gputopo::hwloc_component {

std::string machine_root() {
  return {};
}

}  // namespace gputopo::hwloc_component
