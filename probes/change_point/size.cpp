#include <utility>

#include "change_point/finding.hpp"
#include "change_point/size_methods.hpp"
#include "change_point/trace_check.hpp"

namespace gputopo::change_point {

Finding find_size(const Trace& trace, const Options& options) {
  Trace tidy;
  const bool usable_as_is = is_tidy(trace);
  if (!usable_as_is) {
    tidy = tidied(trace);
  }
  const Trace& rows = usable_as_is ? trace : tidy;
  const bool thesis = options.method == Options::Method::thesis;
  if (std::string reason = why_unusable(rows, 2); !reason.empty()) {
    return inconclusive(std::move(reason), thesis ? "geometric_ks" : "binomial_isotonic");
  }
  return thesis ? find_size_thesis(rows, options) : find_size_standard(rows, options);
}

}  // namespace gputopo::change_point
