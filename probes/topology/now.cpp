// Apart from topology.cpp, which the hwloc component is made of: dates bring std::locale with them.
#include <ctime>

#include <fmt/chrono.h>

#include "topology/provenance.hpp"

namespace gputopo {

std::string rfc3339_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace gputopo
