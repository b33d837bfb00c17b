// The plots of the report page: each is HTML, empty where the topology holds nothing to draw.
#pragma once

#include <string>

#include "topology/topology.hpp"

namespace gputopo::report {

std::string latency_section(const Topology& topology);
std::string size_section(const Topology& topology);
std::string carve_out_section(const Topology& topology);
std::string sharing_section(const Topology& topology);
std::string time_section(const Topology& topology);

}  // namespace gputopo::report
