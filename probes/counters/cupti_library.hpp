// CUPTI by dlopen: the Range Profiler, its host side, and the two calls of the driver that name the current context.
#pragma once

#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <memory>
#include <string>
#include <vector>

#include "error/error.hpp"

#define GPUTOPO_CUPTI_FUNCTIONS(X)                \
  X(cuptiGetResultString)                         \
  X(cuptiProfilerInitialize)                      \
  X(cuptiProfilerDeInitialize)                    \
  X(cuptiProfilerDeviceSupported)                 \
  X(cuptiDeviceGetChipName)                       \
  X(cuptiProfilerGetCounterAvailability)          \
  X(cuptiProfilerHostGetSupportedChips)           \
  X(cuptiProfilerHostInitialize)                  \
  X(cuptiProfilerHostDeinitialize)                \
  X(cuptiProfilerHostConfigAddMetrics)            \
  X(cuptiProfilerHostGetConfigImageSize)          \
  X(cuptiProfilerHostGetConfigImage)              \
  X(cuptiProfilerHostGetNumOfPasses)              \
  X(cuptiProfilerHostEvaluateToGpuValues)         \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerStop) X(cuptiRangeProfilerDecodeData) X(cuptiRangeProfilerGetCounterDataInfo)

namespace gputopo::counters {

/// Pointers into libcupti. Copyable; the library stays loaded as long as one copy lives.
class Cupti {
 public:
  /// Loads the first of `candidates` that can be loaded and has every function. `unavailable` where none does.
  static Expected<Cupti> load(const std::vector<std::string>& candidates);

// The name of a member stands without parentheses.
#define GPUTOPO_DECLARE(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  GPUTOPO_CUPTI_FUNCTIONS(GPUTOPO_DECLARE)
#undef GPUTOPO_DECLARE

  /// Nothing for success, else one line: what was tried, what CUPTI says, and the remedy where there is one.
  Expected<void> check(CUptiResult code, const std::string& what) const;

 private:
  std::shared_ptr<void> library_;
};

/// CUPTI's parameter structures all begin with their own size; the rest starts as zero.
template <class Parameters>
Parameters sized(std::size_t bytes) {
  Parameters p{};
  p.structSize = bytes;
  return p;
}

/// What to do about a result code; nullptr where there is nothing a user can do.
const char* remedy(CUptiResult code);

/// The context that is current to this thread, by the driver in `library`. `unavailable` where there is none.
Expected<CUcontext> current_context(const std::string& library);

}  // namespace gputopo::counters
