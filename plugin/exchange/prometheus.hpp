// GPUs' memories for Prometheus, as node_exporter's textfile collector reads them.
#pragma once

#include <span>
#include <string>

#include "error/error.hpp"
#include "topology/topology.hpp"

namespace gputopo::exchange {

/// Text in Prometheus' exposition format 0.0.4. One gauge an attribute, "gputopo_memory_latency_cycles", with `_low`
/// and
/// `_high` for the ends of its interval; a bound has the one end that it knows and no value; what isn't decided has
/// nothing. docs/prometheus.md lists the metrics. Error: `bad_input` for a GPU that is there twice.
Expected<std::string> prometheus_text(std::span<const Topology> gpus);

}  // namespace gputopo::exchange
