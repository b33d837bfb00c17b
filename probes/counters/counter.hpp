// Hardware counters of kernel launches: metrics in, values per stretch of launches out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "error/error.hpp"

namespace gputopo::counters {

/// Names as NVIDIA's profilers know them, with a rollup: "l1tex__t_sectors_pipe_tex_lookup_miss.sum".
using Metrics = std::vector<std::string>;

/// One value a metric, in the order of the Metrics that were asked for.
using Values = std::vector<double>;

/// Counts what one GPU does in stretches of this process's time. Belongs to the thread whose current context it counts.
class Counter {
 public:
  Counter() = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  virtual ~Counter() = default;

  /// The chip's name, such as "GH100".
  virtual const std::string& chip() const = 0;

  /// How often a kernel would have to run for all of `metrics` together; known without running anything.
  /// `unavailable` where the chip lacks a metric.
  virtual Expected<std::size_t> passes(const Metrics& metrics) = 0;

  /// Gets ready to count `stretches` stretches at most. Nothing is ever run twice: metrics that take more than one pass
  /// are `bad_input`, since a repeated kernel finds other caches than it left. `unavailable` without the right to
  /// count, with the remedy.
  virtual Expected<void> start(const Metrics& metrics, std::size_t stretches) = 0;

  /// What the GPU does in between is counted together, be it one kernel or several side by side. Counted kernel by
  /// kernel, those that wait for each other would never end, and CUPTI would save and restore the memory around each.
  virtual Expected<void> begin_stretch() = 0;
  virtual Expected<void> end_stretch() = 0;

  /// Ends the counting: the values of each stretch, in order. `device` where some were lost.
  virtual Expected<std::vector<Values>> stop() = 0;
};

}  // namespace gputopo::counters
