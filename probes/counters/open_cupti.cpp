#include "counters/locate.hpp"
#include "counters/open.hpp"
#include "counters/range_profiler.hpp"

namespace gputopo::counters {

Expected<std::unique_ptr<Counter>> open_counter(int ordinal, const OpenOptions& options) {
  auto cupti = Cupti::load(options.cupti_libraries.empty() ? cupti_candidates() : options.cupti_libraries);
  if (!cupti) return tl::unexpected<Error>(cupti.error());
  auto context = current_context(options.driver_library);
  if (!context) return tl::unexpected<Error>(context.error());
  auto profiler = RangeProfiler::make(std::move(*cupti), *context, ordinal);
  if (!profiler) return tl::unexpected<Error>(profiler.error());
  return std::unique_ptr<Counter>(std::move(*profiler));
}

}  // namespace gputopo::counters
