#include "counters/open.hpp"

namespace gputopo::counters {

Expected<std::unique_ptr<Counter>> open_counter(int /*ordinal*/, const OpenOptions& /*options*/) {
  return fail(Error::Kind::unavailable,
              "this gputopo was built without CUPTI; install a CUDA toolkit of 12.6 or newer and build again to read "
              "hardware counters");
}

}  // namespace gputopo::counters
