// Opens the hardware counters of a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "counters/counter.hpp"
#include "error/error.hpp"

namespace gputopo::counters {

struct OpenOptions {
  std::vector<std::string> cupti_libraries;  ///< file names to try in turn; empty: cupti_candidates()
  std::string driver_library = "libcuda.so.1";
};

/// The counters of the context that is current to this thread, on the GPU that CUDA numbers `ordinal`, by CUPTI's Range
/// Profiler. `unavailable`, with the remedy, where CUPTI is missing or wasn't there when gputopo was built, where the
/// chip is unknown to it, and where somebody or something doesn't let this process count: the driver, a hypervisor,
/// MIG, confidential computing, another profiler.
Expected<std::unique_ptr<Counter>> open_counter(int ordinal, const OpenOptions& options = {});

}  // namespace gputopo::counters
