#include "evidence/held/agreed_size.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"

namespace gputopo::evidence {

double rounded_count(double bytes) {
  const double unit = std::exp2(std::floor(std::log2(bytes / 16)));
  return std::round(bytes / unit) * unit;
}

double roundest_within(const Interval& range) {
  double unit = 1;
  while (2 * unit <= range.high) unit *= 2;
  while (unit > 1 && std::ceil(range.low / unit) * unit > range.high) unit /= 2;
  const double middle = std::round((range.low + range.high) / 2 / unit) * unit;
  return std::clamp(middle, std::ceil(range.low / unit) * unit, std::floor(range.high / unit) * unit);
}

namespace {

// By the method that what fits was looked for by: who asked knows by that which memory it was.
Estimate held_at_least(const Held& held, std::string_view method, std::string_view why) {
  Estimate e = measured(held.interval.low, "B", method, held.samples);
  e.status = Status::lower_bound;
  e.note = why;
  return e;
}

// A cache holds whole lines, where they were counted by lines.
Interval in_whole_lines(const Interval& range, const Held& held) {
  constexpr double rounding = 1e-6;
  if (held.line_bytes == 0) return range;
  return {range.low, std::max(range.low, std::floor(range.high / held.line_bytes + rounding) * held.line_bytes)};
}

constexpr double telling = 0.05;  // an interval wider than this share of a size tells no more than its lower end

bool is_telling(const Held& held, const Interval& counted, double line_bytes) {
  return held.is_sample && held.steady && counted.high - counted.low <= std::max(line_bytes, telling * counted.low);
}

bool is_below(const Held& held, const Estimate& fits) {
  return held.samples != 0 && fits.interval && held.interval.high < fits.interval->low;
}

Estimate exactly_held(const Held& held) {
  Estimate size = measured(held.bytes, "B", "residency", held.samples);
  size.interval = held.interval;
  return size;
}

// Where nothing tells what fits.
Estimate held_alone(const Estimate& fits, const Held& held, double line_bytes) {
  const Interval counted = in_whole_lines(held.interval, held);
  if (held.exact && counted.low > 0) return exactly_held(held);
  if (fits.status != Status::inconclusive || counted.low <= 0) return fits;
  if (!is_telling(held, counted, line_bytes))
    return held_at_least(held, fits.method, "so much of more is held; where it begins to miss doesn't show");
  Estimate size =
      measured(roundest_within(in_whole_lines(held.likely.value_or(counted), held)), "B", fits.method, held.samples);
  size.interval = counted;
  return size;
}

}  // namespace

Estimate agreed_size(const Estimate& fits, const std::optional<Held>& count, double line_bytes) {
  constexpr std::string_view not_counted = "so much fits; how much is held of more can't be counted";
  const Held held = count.value_or(Held{});
  Interval counted = held.interval, likely = held.likely.value_or(counted);
  if (fits.status != Status::measured) return held_alone(fits, held, line_bytes);
  const std::string begins = fmt::format("a footprint of more than {:.0f} B begins to miss", *fits.value);
  Estimate size = fits;
  if (held.exact && counted.low > 0 && *fits.value + line_bytes <= counted.low) {
    size = exactly_held(held);
    size.note = begins;
  } else {
    size.samples += held.samples;
    // Sets only fill up: of more lines no fewer are held than of those that fit. What others take is less than a level.
    if (held.samples != 0 && std::min(counted.high, held.fewest_bytes) * a_level_more < size.interval->low)
      return inconclusive("B", fits.method, "of more lines fewer are found than fit: something else makes them slow");
    if (is_below(held, fits)) {
      // Lines that overfull sets lost lie together, and looks may have missed them all.
      if (is_telling(held, in_whole_lines(held.interval, held), line_bytes))
        return held_at_least(held, fits.method, "of more lines fewer are held than seemed to fit");
      // A cache that loses more than it has to when it overflows, or something else that hides lines.
      bound_below(size, "so much fits; of more lines fewer are held, which doesn't tell how many more would fit");
      return size;
    }
    // A count that reaches what fits by its error alone may have missed as much of the rest.
    for (Interval* range : {&counted, &likely}) {
      if (range->high >= fits.interval->low) range->high += std::max(0.0, fits.interval->low - held.bytes);
      *range = in_whole_lines(*range, held);
    }
    // From above the count is all there is, once more lines leave no more: then no set has room. Sets get lines in runs
    // of as many as there are sets, each run begun anywhere: one more than there are ways reaches all. Of fewer those
    // after what fits may all fall among lines that are there, and other sets have room.
    const double least_held = 2 * held.bytes - held.interval.high;
    const double reach_all = (1 + 1 / held.least_ways) * *fits.value;
    const bool none_more = held.walked_bytes >= reach_all && least_held < *fits.value + line_bytes;
    size.interval->high = held.steady || none_more ? std::max(size.interval->high, counted.high) : 1e300;
    // A count that says more than fits, but isn't exact, says nothing of how little may fit.
    if (held.steady && counted.low <= *size.value) size.interval->low = std::max(size.interval->low, counted.low);
  }
  // Whatever a cache replaces, of far more it holds as much as it can: what a sample says of that is the capacity,
  // within which what fits says it to the line where its lines fill the sets evenly.
  if (is_telling(held, counted, line_bytes)) {
    size.value = *fits.value >= likely.low && *fits.value <= likely.high ? *fits.value : roundest_within(likely);
    size.interval = counted;
    if (size.value != fits.value) size.confidence.reset();
    if (*fits.value < counted.low) size.note = begins;
    return size;
  }
  // How sure it is where a footprint begins to miss says nothing of how much more than that may be held.
  if (size.interval->high > fits.interval->high) size.confidence.reset();
  const double apart = std::max(size.interval->high - *size.value, *size.value - size.interval->low);
  if (apart <= line_bytes || size.interval->high - size.interval->low <= telling * size.interval->low) return size;
  bound_below(size, not_counted);
  return size;
}

void leave_out_front(Estimate& fits, const Counts& counts, std::uint64_t line_bytes) {
  if (!fits.has_value()) return;
  double asked = 0, all = 0;
  for (const Count& c : counts) {
    if (c.footprint_bytes != *fits.value) continue;
    asked += static_cast<double>(c.loads);
    all += static_cast<double>(c.loads + c.in_front);
  }
  if (asked == all) return;
  const auto line = static_cast<double>(line_bytes);
  const double held = std::floor(*fits.value * asked / all / line) * line;
  if (fits.status == Status::lower_bound) fits.value = held;
  if (fits.interval) fits.interval->low = std::min(fits.interval->low, held);
}

namespace {

// The share of misses, strangers apart, of footprints from `least_bytes` to `most_bytes`.
double missing_share(const Counts& counts, const Levels& levels, double least_bytes, double most_bytes) {
  double loads = 0, misses = 0;
  for (const Count& c : counts) {
    if (c.footprint_bytes < least_bytes || c.footprint_bytes > most_bytes) continue;
    loads += static_cast<double>(c.loads);
    misses += static_cast<double>(c.misses);
  }
  return loads == 0 ? 0 : std::max(0.0, misses / loads - levels.false_miss);
}

// Of what fits all is held: as many of its loads as miss are hits of lines and from SMs that those known by
// construction weren't of, and so may be of the lines that a count lacks.
double missing_of_what_fits(const Estimate& fits, const Counts& counts, const Levels& levels) {
  return missing_share(counts, levels, 0, fits.value.value_or(0));
}

// A bound by what fits goes no further than what of it was there: lines that miss in every lap are others' or the first
// that don't fit, and where nothing counts what is held, nothing says which.
void leave_out_missing(Estimate& bound, const Estimate& fits, const Counts& counts, const Levels& levels) {
  if (!fits.value) return;
  const double missing = missing_share(counts, levels, *fits.value, *fits.value);
  bound.value = std::min(*bound.value, *fits.value * (1 - missing));
}

// Of neighbours that are looked for together one that is missing may push out the next, the same one every time: an
// exact count of them may fall short, but seldom by as much as what fits does.
bool may_fall_short(const Held& of_neighbours, const Estimate& fits, double line_bytes) {
  const bool agree = fits.status == Status::measured && std::fabs(of_neighbours.bytes - *fits.value) <= line_bytes;
  return of_neighbours.exact && !is_below(of_neighbours, fits) && !agree;
}

double width_of(const Interval& interval) {
  return interval.high - interval.low;
}

// Looks in another order that find each line always or never, too, but fewer: neighbours that are looked for together
// hide lines and add none.
void widen_to(const std::optional<Held>& more, Held& held) {
  if (!more || !held.exact || more->bytes <= held.bytes) return;
  held.interval = {held.bytes, more->bytes};
  held.likely.reset();
  held.exact = false;
}

}  // namespace

std::optional<Estimate> open_where_it_misses(const Estimate& fits, const Counts& counts, const Levels& levels) {
  if (missing_of_what_fits(fits, counts, levels) <= a_stranger) return std::nullopt;
  return inconclusive("B", fits.method, "of what seems to fit loads miss as well");
}

Expected<SizeAndHeld> agree_by_count(Session& session, const CacheFacts& cache, const Estimate& fits,
                                     const Counts& counts, std::uint64_t about_bytes, Scope isolation) {
  if (auto open = open_where_it_misses(fits, counts, cache.levels)) return SizeAndHeld{*open, std::nullopt};
  const double unknown = missing_of_what_fits(fits, counts, cache.levels);
  SizeAndHeld result{fits, std::nullopt};
  const auto line = static_cast<double>(cache.stride());
  bool is_unsure = false;    // of neighbours
  std::optional<Held> most;  // of exact ones
  for (const Care care : {Care::few_looks, Care::single_looks, Care::many_looks}) {
    if (care == Care::single_looks && !is_unsure) continue;
    auto held = if_available(count_held(session, cache, about_bytes, isolation, care));
    if (!held) return tl::unexpected<Error>(held.error());
    if (!*held && result.held) break;
    if (*held) {
      widen_to(most, **held);
      if ((*held)->exact) most = **held;
    }
    if (*held && !(*held)->exact) {
      (*held)->interval.high /= 1 - unknown;
      if ((*held)->likely) (*held)->likely->high /= 1 - unknown;
    }
    SizeAndHeld next{agreed_size(fits, *held, line), *held};
    // Looks in no order leave out what the cache in front may have: where the rest tells no more, the fewer say more.
    const bool is_no_closer = next.size.status != Status::measured && *held && result.held && !is_unsure &&
                              width_of(result.held->interval) < width_of((*held)->interval);
    if (is_no_closer) break;
    result = std::move(next);
    is_unsure = *held && care == Care::few_looks && (may_fall_short(**held, fits, line) || is_below(**held, fits));
    if (is_unsure) continue;
    // More looks make a count surer, not larger.
    if (!*held || (*held)->exact || is_below(**held, fits)) break;
    const bool is_told = held_fewest_looks * about_bytes / cache.stride() >= enough_looks;
    if (is_told && result.size.status == Status::measured) break;
  }
  if (result.size.status == Status::lower_bound) leave_out_missing(result.size, fits, counts, cache.levels);
  if (is_unsure) bound_below(result.size, "so much is held; neighbours that were looked for together may hide more");
  return result;
}

void bound_by_lines(Estimate& size, std::uint64_t line_bytes, const Levels& levels) {
  constexpr double seldom = 0.05;
  const auto line = static_cast<double>(line_bytes);
  if (size.status != Status::lower_bound || !size.value) return;
  const double hide = std::clamp(levels.false_hit, 0.0, 0.5);
  const double hidden = hide <= seldom ? 0 : std::floor(std::log(seldom) / std::log(hide));
  size.value = std::max(0.0, std::floor(*size.value / line) - hidden) * line;
  if (*size.value == 0) size = inconclusive(size.unit, size.method, size.note, size.samples);
}

std::uint64_t bytes_to_fill(const Estimate& size, const std::optional<Held>& counted) {
  if (size.status == Status::measured) return static_cast<std::uint64_t>(*size.value);
  if (size.status != Status::lower_bound || !counted || counted->samples == 0) return 0;
  const double most = std::max(*size.value, counted->bytes);
  return most <= a_level_more * *size.value ? static_cast<std::uint64_t>(most) : 0;
}

void agree_as_one_cache(Estimate& a, Estimate& b) {
  constexpr std::string_view told = "one cache, whose size another path told more surely";
  const auto take = [&](Estimate& to, const Estimate& from) {
    to = from;
    to.note = told;
  };
  for (const auto& [bound, measured] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    if (bound->status != Status::lower_bound || measured->status != Status::measured || !measured->interval) continue;
    // Nothing holds more of it along one path than there is.
    if (measured->interval->low <= *bound->value && *bound->value <= *measured->value) take(*bound, *measured);
    return;
  }
  if (a.status != Status::measured || b.status != Status::measured) return;
  if (a.value == b.value && a.interval == b.interval) return;
  const bool is_a_surer = a.confidence.value_or(0) >= b.confidence.value_or(0);
  const Estimate& surer = is_a_surer ? a : b;
  Estimate& other = is_a_surer ? b : a;
  if (!other.interval || *surer.value < other.interval->low || *surer.value > other.interval->high) return;
  take(other, surer);
}

}  // namespace gputopo::evidence
