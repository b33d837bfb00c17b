// Statistics on a trace in a file, without any device: what `gputopo analyze` prints.
#pragma once

#include <optional>
#include <string>

#include "error/error.hpp"
#include "evidence/traces/traces.hpp"
#include "topology/estimate.hpp"

namespace gputopo::cli {

enum class Attribute { size, line_size, fetch_granularity, latency };

struct Analysis {
  Estimate estimate;
  std::optional<double> next_row;  ///< of a measured size: the trace's next footprint behind its interval, B
};

/// Reads `path` in pieces ("-" is standard input) and estimates the attribute. The unit is B, or cycles for a latency.
/// Errors: `io`; `bad_input` with line number and reason for text that isn't a trace, and with the
/// reason for numbers that can't be latencies in cycles (change_point/trace_content.hpp).
Expected<Analysis> analyze_file(const std::string& path, Attribute attribute, const evidence::TraceOptions& options);

/// For people, a line an item.
std::string analysis_as_text(const Analysis& analysis, const std::string& attribute);

}  // namespace gputopo::cli
