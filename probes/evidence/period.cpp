#include "evidence/period.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "evidence/curves.hpp"
#include "evidence/estimates.hpp"
#include "evidence/posterior.hpp"

namespace gputopo::evidence {
namespace {

double x_log_y(double x, double y) {
  return x > 0 ? x * std::log(y) : 0.0;
}

struct Candidate {
  double bytes = 0;
  double log_likelihood = 0;
};

// The likeliest candidate with its posterior probability, all equally likely beforehand and `rival`, that it is none of
// them, too.
Estimate likeliest(const std::vector<Candidate>& candidates, double rival, std::string_view method, double samples,
                   std::string_view why_not) {
  if (candidates.empty()) return inconclusive("B", method, why_not);
  Posterior p;
  for (const Candidate& c : candidates) {
    p.values.push_back(c.bytes);
    p.probability.push_back(c.log_likelihood);
  }
  p.probability.push_back(rival);
  p.probability = probabilities(std::move(p.probability));
  p.probability.pop_back();
  constexpr double surely = 0.95;  // values are far apart: an interval over two of them says nothing
  p.take_likeliest(surely);
  return estimate_of(p, method, static_cast<std::uint64_t>(samples), {{}, {}, why_not});
}

// One place in twenty is odd: a cache that throws out the oldest holds more of one region than of the other, or the
// region's sets have room. No single place rules out what all others say.
double odd_at_times(double same) {
  constexpr double odd = 0.05;
  return (1 - odd) * same + odd * (1 - same);
}

// The likelihood of 'the same' at one place. A share of a third kind is what other lines leave there, of which some
// fall into the same sets, and less often what the same ones do: a cache in front may answer for some, and what several
// loads of a line leave depends on how it replaces.
double likelihood_of(const Tally& seen, const Tally& if_same, const Tally& fits) {
  constexpr double same_as_well = 0.25;
  const Sameness s = sameness(seen, if_same, fits);
  return odd_at_times((1 - s.neither) * s.probability + s.neither * same_as_well);
}

using PatternPlace = std::pair<std::uint64_t, std::uint64_t>;  // stride, gap

// What walked the lines of patterns of that stride, if it is within a line, and missed the most of them: without a
// shift anywhere, and shorter strides without a gap.
Tally most_of(const std::map<PatternPlace, Tally>& straight, std::uint64_t stride_bytes) {
  Tally most;
  for (const auto& [place, seen] : straight) {
    const bool is_same = place.first == stride_bytes || (place.first < stride_bytes && place.second == 0);
    if (is_same && (most.loads == 0 || seen.share() > most.share())) most = seen;
  }
  return most;
}

// The same of a pattern and its control at one place, where a cache that goes by age may hold more of one's regions
// than of the other's: if they walk the same lines, neither misses more than the `most` that these do anywhere, but for
// what walks vary by.
double likelihood_of(const Tally& seen, const Tally& control, const Tally& most, const Tally& fits) {
  if (seen.share() <= most.share() + least_spread) return likelihood_of(seen, control, fits);
  return odd_at_times(probability_of_the_same_lines(seen, most, fits));
}

// How likely all places of a stride are if it is within a line, and if it is longer.
struct Both {
  double within = 0, longer = 0;
};
using ByStride = std::map<std::uint64_t, Both>;
using StraightWalks = std::map<PatternPlace, Tally>;

// Within a line each walk without a shift comes to 1.2 times as many lines as there is room for, wherever both regions
// lie, and misses a sixth, or an eighth where the capacity is a little off; without a gap as much as shorter strides
// do. Longer strides may do all that, too: the index decides.
void judge_straight(const StraightWalks& straight, const Tally& fits, std::uint64_t least_bytes, ByStride& by_stride) {
  const double an_eighth_more = fits.share() + (1 - fits.share()) / 8;  // strangers hide hits, wherever they are
  Tally shorter;  // what strides up to this one missed of the lines without a gap, the most
  for (const auto& [place, seen] : straight) {
    const Tally an_eighth{seen.loads, seen.loads * std::min(an_eighth_more, shorter.share())};
    if (place.first > least_bytes) {
      by_stride[place.first].within += std::log(std::min(0.5, likelihood_of(seen, an_eighth, fits)));
      by_stride[place.first].longer += std::log(0.5);
    }
    if (place.second != 0) continue;
    if (shorter.loads > 0) {
      by_stride[place.first].within += std::log(likelihood_of(seen, shorter, fits));
      by_stride[place.first].longer += std::log(0.5);
    }
    if (shorter.loads == 0 || seen.share() > shorter.share()) shorter = seen;
  }
}

// Of a stride within a line the walks with and without a shift come to the same lines. Gives how many loads say so.
double judge_shifted(std::span<const PatternWalk> walks, const StraightWalks& straight, const Tally& fits,
                     ByStride& by_stride) {
  // Beforehand: of places, those that put both halves of a pattern into the same sets, unknown; and of caches, those
  // that do at every place, as one of a single set does.
  constexpr double collides = 0.5, always_collides = 0.02;
  struct AllPlaces {
    double same = 0, mixed = 0;  // all alike; each by its place
  };
  std::map<std::uint64_t, AllPlaces> all;
  double samples = 0;
  for (const PatternWalk& walk : walks) {
    const auto control = straight.find({walk.stride_bytes, walk.gap_strides});
    if (walk.kind != PatternWalk::Kind::shifted || walk.seen.loads == 0 || control == straight.end()) continue;
    const double same = likelihood_of(walk.seen, control->second, most_of(straight, walk.stride_bytes), fits);
    AllPlaces& of_stride = all[walk.stride_bytes];
    of_stride.same += std::log(same);
    of_stride.mixed += std::log(collides * same + (1 - collides) * (1 - same));
    samples += walk.seen.loads + control->second.loads;
  }
  for (const auto& [stride, of] : all) {
    by_stride[stride].within += of.same;
    const double always = std::log(always_collides) + of.same, mixed = std::log(1 - always_collides) + of.mixed;
    by_stride[stride].longer += std::max(always, mixed) + std::log1p(std::exp(-std::fabs(always - mixed)));
  }
  return samples;
}

}  // namespace

Estimate period_of(std::span<const bool> missed, std::uint64_t stride_bytes, const Contamination& contamination,
                   std::string_view method) {
  const std::size_t n = missed.size();
  const double false_miss = std::clamp(contamination.false_miss, 1e-3, 0.5);
  const double false_hit = std::clamp(contamination.false_hit, 1e-3, 0.5);
  const auto misses = static_cast<double>(std::count(missed.begin(), missed.end(), true));
  std::vector<Candidate> candidates;
  for (std::size_t period = 1; period * 4 <= n; period *= 2) {
    double starts = 0, at_starts = 0;
    for (std::size_t i = 0; i < n; i += period) ++starts, at_starts += missed[i] ? 1 : 0;
    const double others = static_cast<double>(n) - starts, at_others = misses - at_starts;
    const double log_likelihood = x_log_y(at_starts, 1 - false_hit) + x_log_y(starts - at_starts, false_hit) +
                                  x_log_y(at_others, false_miss) + x_log_y(others - at_others, 1 - false_miss);
    candidates.push_back({static_cast<double>(period * stride_bytes), log_likelihood});
  }
  const double rate = misses / static_cast<double>(std::max<std::size_t>(1, n));
  const bool all = misses == static_cast<double>(n);
  const double rival = all ? -1e300 : x_log_y(misses, rate) + x_log_y(static_cast<double>(n) - misses, 1 - rate);
  return likeliest(candidates, rival, method, static_cast<double>(n), "cold misses follow no regular spacing");
}

DecidingCurve period_curve(std::span<const bool> missed, std::uint64_t stride_bytes, const Estimate& period,
                           std::string_view memory) {
  constexpr std::uint64_t periods = 4, bytes_where_unknown = 512;
  const auto bytes = period.has_value() ? periods * static_cast<std::uint64_t>(*period.value) : bytes_where_unknown;
  const std::size_t stretch = std::max<std::uint64_t>(1, bytes / stride_bytes);
  DecidingCurve curve = make_curve(memory, "sector_size", {"place in stretches of cold loads", "B", false},
                                   {std::string(share_that_misses), "", false});
  Series& shares = curve.series.emplace_back(Series{"first loads, ascending", {}});
  for (std::size_t at = 0; at < std::min(stretch, missed.size()); ++at) {
    double loads = 0, misses = 0;
    for (std::size_t i = at; i < missed.size(); i += stretch) ++loads, misses += missed[i] ? 1 : 0;
    shares.points.emplace_back(static_cast<double>(at * stride_bytes), misses / loads);
  }
  mark(curve, period);
  return curve;
}

Estimate line_of(std::span<const PatternWalk> walks, std::uint64_t least_bytes, std::string_view method) {
  constexpr std::string_view why_not = "no stride's pattern both overflows as one too many lines do and fits as few do";
  Tally fits;
  StraightWalks straight;
  for (const PatternWalk& walk : walks) {
    if (walk.kind == PatternWalk::Kind::fits) fits += walk.seen;
    if (walk.kind == PatternWalk::Kind::straight && walk.seen.loads > 0)
      straight[{walk.stride_bytes, walk.gap_strides}] = walk.seen;
  }
  if (straight.empty()) return inconclusive("B", method, "there is no room to overflow the cache");
  ByStride by_stride;
  judge_straight(straight, fits, least_bytes, by_stride);
  const double samples = judge_shifted(walks, straight, fits, by_stride);
  std::vector<Candidate> candidates;
  std::vector<std::uint64_t> lines{least_bytes};
  for (const auto& [stride, both] : by_stride) lines.push_back(stride);
  // A line of the longest stride would have nothing behind it that fits.
  lines.pop_back();
  for (const std::uint64_t line : lines) {
    double log_likelihood = 0;
    for (const auto& [stride, both] : by_stride) log_likelihood += stride <= line ? both.within : both.longer;
    candidates.push_back({static_cast<double>(line), log_likelihood});
  }
  double rival = 0;  // every pattern overflows
  for (const auto& [stride, both] : by_stride) rival += both.within;
  return likeliest(candidates, rival, method, samples, why_not);
}

}  // namespace gputopo::evidence
