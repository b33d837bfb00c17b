// What device memory's latency is stated to be.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Why latencies of memory, and of what it brings, are bounds below.
inline constexpr std::string_view in_open_rows =
    "lines of one page may lie in open rows of DRAM, and others' translation isn't kept";

/// States the mean of what lines of memory take, as timed, of `samples` looks, and keeps what decided it. What was a
/// bound stays one.
void state_memory_latency(Session& session, Findings& findings, std::vector<double> by_line, std::uint64_t samples);

}  // namespace gputopo::evidence
