// Statistics on a trace in a file, without any device: what `gputopo analyze` prints.
#pragma once

#include <string>

#include "evidence/traces.hpp"
#include "topology/error.hpp"
#include "topology/estimate.hpp"

namespace gputopo::cli {

enum class Attribute { size, line_size, fetch_granularity, latency };

/// Reads `path` in pieces ("-" is standard input) and estimates the attribute. The unit is B, or cycles for a latency.
/// Errors: `io`; `bad_input` with line number and reason for text that isn't a trace.
Expected<Estimate> analyze_file(const std::string& path, Attribute attribute, const evidence::TraceOptions& options);

/// The Estimate for people, a line an item.
std::string estimate_as_text(const Estimate& estimate, const std::string& attribute);

}  // namespace gputopo::cli
