// The plots of the report page: each is HTML, empty where the topology holds nothing to draw.
#pragma once

#include <span>
#include <string>

#include "topology/evidence.hpp"
#include "topology/topology.hpp"

namespace gputopo::report {

/// By which method it was found who shares it; empty where that isn't known.
std::string method_of_scope(const Memory& m);

std::string latency_section(const Topology& topology);
std::string size_section(const Topology& topology);
std::string carve_out_section(const Topology& topology);
std::string sharing_section(const Topology& topology);
std::string time_section(const Topology& topology);
/// The SMs, and what each holds, as boxes in one another, of areas to scale.
std::string chip_section(const Topology& topology);
/// Of the evidence that is this topology's.
std::string evidence_section(const Topology& topology, std::span<const Evidence> evidence);

}  // namespace gputopo::report
