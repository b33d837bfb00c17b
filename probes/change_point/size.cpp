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
  // Checked and counted row by row: a trace larger than the processor's caches is read once less.
  LatencyCounts counted;
  std::string reason = too_few_rows(rows, 2);
  for (std::size_t i = 0; reason.empty() && i < rows.rows.size(); ++i) {
    reason = why_unusable(rows.rows[i]);
    if (reason.empty() && !thesis) {
      counted.add(rows.rows[i].values);
    }
  }
  if (!reason.empty()) {
    return inconclusive(std::move(reason), thesis ? "geometric_ks" : "binomial_isotonic");
  }
  return thesis ? find_size_thesis(rows, options) : find_size_standard(rows, counted, options);
}

}  // namespace gputopo::change_point
