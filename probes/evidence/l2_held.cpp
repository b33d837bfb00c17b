#include "evidence/l2_held.hpp"

#include <algorithm>

#include "evidence/agreed_size.hpp"
#include "evidence/estimates.hpp"
#include "evidence/near_count.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t counted_parts = 16;     // walks differ by more than places of one
constexpr std::uint64_t counted_places = 4096;  // of small ones: of three lines each
constexpr std::string_view slower_hits = "slower_hits";

}  // namespace

Footprints overflowing(const device::DeviceInfo& info, std::uint64_t about_bytes) {
  return {2 * static_cast<double>(about_bytes), static_cast<double>(info.largest_buffer_bytes / 2)};
}

Expected<Held> count_near(L2Rows& rows, L2Rows::Asked& asked, const Levels& levels, const Footprints& footprints,
                          std::size_t most_counts) {
  constexpr std::uint64_t most_warm_loads = 16'000'000;
  Held held;
  std::optional<NearCount> before;
  double next = footprints.first;
  for (std::size_t n = 0; n < most_counts && !held.steady && next <= footprints.most; ++n) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(next) / l2_unit_bytes * l2_unit_bytes;
    if (bytes == 0) break;
    const std::uint64_t warm_loads = bytes / rows.stride() * 2 * l2_warm_laps;
    const std::uint64_t stretches = rows.stretches(bytes, Purpose::count);
    const auto parts = std::clamp<std::uint64_t>(most_warm_loads / warm_loads, counted_parts,
                                                 std::max(counted_parts, counted_places / stretches));
    auto timed = rows.histograms({{bytes, 1}}, parts, Purpose::count, asked);
    if (!timed) return tl::unexpected<Error>(timed.error());
    NearCount count = near_of(*timed, levels, static_cast<double>(bytes), stretches);
    // What a program's first looks that missed may have pushed out before its last.
    const auto looked_bytes = static_cast<double>(rows.looked_lines(bytes, Purpose::count) * rows.stride());
    count.scatter += (1 - count.held / count.bytes) * looked_bytes / 2;
    const bool is_second = before.has_value();
    held = held_by(before.value_or(count), count);
    held.steady = held.steady && is_second;
    // Of both the fewer, if that overflows.
    constexpr double overflows = 1.5;
    const bool is_enough = is_second && before->bytes >= overflows * held.bytes;
    held.walked_bytes = is_enough ? before->bytes : count.bytes;
    before = count;
    next = std::max(1.25 * next, 2 * count.held);
    if (!is_second) next = std::min(next, footprints.most);
  }
  return held;
}

std::optional<Estimate> told_near(const std::optional<Held>& held) {
  constexpr double telling = 0.05;
  if (!held || !held->steady || held->interval.low <= 0) return std::nullopt;
  const Interval& counted = held->interval;
  if (counted.high - counted.low > telling * counted.low) return std::nullopt;
  Estimate near = measured(held->bytes, "B", slower_hits, held->samples);
  near.interval = counted;
  near.note = "as the SM that was asked finds it";
  return near;
}

Estimate as_next_count(Estimate counted) {
  const double rounded = rounded_count(*counted.value);
  counted.interval = Interval{std::min(counted.interval->low, rounded), std::max(counted.interval->high, rounded)};
  counted.value = rounded;
  return counted;
}

}  // namespace gputopo::evidence
