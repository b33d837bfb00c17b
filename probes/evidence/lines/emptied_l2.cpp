#include "evidence/lines/emptied_l2.hpp"

#include <algorithm>
#include <vector>

#include "evidence/lines/pushed_further.hpp"

namespace gputopo::evidence {

using program::Walk;

Expected<std::optional<AroundEmptying>> time_around_emptying(Session& session, const CacheFacts& front,
                                                             std::uint64_t every_line, const CacheFacts* l2,
                                                             const Eviction& e,
                                                             std::optional<std::uint32_t> brought_by) {
  constexpr std::uint64_t sector_bytes = 32;
  constexpr std::uint64_t few_bytes = 16 << 10;
  if (l2 == nullptr || !l2->present || l2->capacity_bytes == 0) return std::optional<AroundEmptying>();
  const std::uint64_t bytes = std::min(2 * l2->capacity_bytes, session.info().largest_buffer_bytes / 2);
  const Walk all = by_all_lanes(make_walk(l2_path, bytes, sector_bytes, 1), session.info());
  const auto laps = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / few_bytes));
  const Walk few = by_all_lanes(make_walk(l2_path, few_bytes, sector_bytes, laps), session.info());
  const std::uint64_t stride = e.far_bytes == 0 ? every_line : coarse_stride_bytes;
  std::vector<Histogram> timed;
  for (const Walk* past : {&few, &all}) {
    auto looks = if_available(brought_by ? time_brought(session, stride, every_line, e, *past, *brought_by)
                                         : time_cold(session, stride, every_line, e, past));
    if (!looks) return tl::unexpected<Error>(looks.error());
    if (!*looks) return std::optional<AroundEmptying>();
    timed.push_back(between(histogram_of(coarse(**looks, stride)), front.levels.threshold_cycles, 1e9));
  }
  return std::optional(AroundEmptying{std::move(timed[0]), std::move(timed[1])});
}

}  // namespace gputopo::evidence
