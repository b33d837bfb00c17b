#include "evidence/held/l2_held.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "evidence/held/agreed_size.hpp"
#include "evidence/held/near_count.hpp"
#include "evidence/inference/estimates.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t counted_parts = 16;  // walks differ by more than places of one
// Of small ones, of three lines each; four times as many halve what chance does.
constexpr std::uint64_t counted_places = 4096, places_of_many_looks = 4 * counted_places;

// Walks of a footprint that are looked at, each in as many stretches.
std::uint64_t parts_of(const L2Rows& rows, std::uint64_t bytes, Care care) {
  constexpr std::uint64_t most_warm_loads = 16'000'000;
  const std::uint64_t warm_loads = bytes / rows.stride() * 2 * l2_warm_laps;
  const std::uint64_t places = care == Care::many_looks ? places_of_many_looks : counted_places;
  return std::clamp<std::uint64_t>(most_warm_loads / warm_loads, counted_parts,
                                   std::max(counted_parts, places / rows.stretches(bytes, Purpose::count)));
}

// Of so many programs each that looked at one place.
std::vector<Histogram> merged_each(const std::vector<Histogram>& looks, std::uint64_t programs) {
  std::vector<Histogram> places(looks.size() / programs);
  for (std::size_t i = 0; i < looks.size(); ++i) places[i / programs] = merged(places[i / programs], looks[i]);
  return places;
}

}  // namespace

Footprints overflowing(const device::DeviceInfo& info, std::uint64_t about_bytes) {
  return {2 * static_cast<double>(about_bytes), static_cast<double>(info.largest_buffer_bytes / 2)};
}

Expected<Held> count_near(L2Rows& rows, L2Rows::Asked& asked, const Levels& levels, const Footprints& footprints,
                          std::size_t most_counts, Care care) {
  Held held;
  std::optional<NearCount> before;
  double next = footprints.first;
  for (std::size_t n = 0; n < most_counts && !held.steady && next <= footprints.most; ++n) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(next) / l2_unit_bytes * l2_unit_bytes;
    if (bytes == 0) break;
    const std::uint64_t stretches = rows.stretches(bytes, Purpose::count), parts = parts_of(rows, bytes, care);
    const std::uint64_t sharing = rows.sharing(bytes);
    auto timed = rows.histograms({{bytes, 1}}, parts * sharing, Purpose::count, asked);
    if (!timed) return tl::unexpected<Error>(timed.error());
    NearCount count = near_of(merged_each(*timed, sharing), levels, static_cast<double>(bytes), stretches);
    // Looks that miss push lines out that later ones would have found: as many as they are where the oldest go first,
    // half as many by chance, none where the newest do; and with each all sectors of a line.
    const auto looked_bytes = static_cast<double>(rows.counted_lines(bytes) * rows.stride());
    const double half = (1 - count.held / count.bytes) * most_sectors * looked_bytes / 2;
    count.held += half, count.mistaken += half;
    next = std::max(1.25 * next, 2 * count.held);
    if (!before) next = std::min(next, footprints.most);
    held = before ? held_by(*before, count) : held_by(count);
    // Of both the fewer, if that overflows.
    constexpr double overflows = 1.5;
    const bool is_enough = before && before->bytes >= overflows * held.bytes;
    held.walked_bytes = is_enough ? before->bytes : count.bytes;
    before = count;
  }
  return held;
}

bool may_look_more(const L2Rows& rows, double bytes) {
  const std::uint64_t walked = static_cast<std::uint64_t>(bytes) / l2_unit_bytes * l2_unit_bytes;
  return walked != 0 && parts_of(rows, walked, Care::many_looks) > parts_of(rows, walked, Care::few_looks);
}

Estimate counted_near(const Held& held) {
  Estimate near = measured(held.bytes, "B", slower_hits, held.samples);
  near.interval = held.interval;
  near.note = "as the SM that was asked finds it";
  return near;
}

bool is_telling(const Estimate& counted) {
  constexpr double telling = 0.05;
  const Interval& range = *counted.interval;
  return range.low > 0 && range.high - range.low <= telling * range.low;
}

Estimate as_next_count(Estimate counted, double nominal_bytes) {
  constexpr double as_much = 1.0 / 16;  // as rounded_count
  const double count = *counted.value, off = std::fabs(count - nominal_bytes);
  const double rounded = off <= as_much * nominal_bytes ? nominal_bytes : rounded_count(count);
  counted.note += fmt::format("{}{:.1f} MiB were found", counted.note.empty() ? "" : "; ", count / (1 << 20));
  counted.interval = Interval{std::min(counted.interval->low, rounded), std::max(counted.interval->high, rounded)};
  counted.value = rounded;
  return counted;
}

}  // namespace gputopo::evidence
