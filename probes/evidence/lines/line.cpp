#include "evidence/lines/line.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include <boost/math/distributions/binomial.hpp>
#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/posterior.hpp"
#include "evidence/looks/longest_line.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t most_times_more = 8;  // than was thought to be the capacity
constexpr std::uint64_t in_a_row = LinePairs::in_a_row;

DecidingCurve line_curve(std::span<const PairFates> fates, const Estimate& line, std::string_view memory) {
  DecidingCurve curve =
      make_curve(memory, "line_size", {"distance", "B", true}, {"share of pairs that part", "", false});
  Series& series = curve.series.emplace_back(Series{"one lost, the other not", {}});
  for (const PairFates& f : fates)
    if (f.parted.loads > 0) series.points.emplace_back(static_cast<double>(f.distance_bytes), f.parted.share());
  mark(curve, line);
  return curve;
}

// Looks that hide among hits part halves of one line.
Contamination most_mistakes(const Levels& levels) {
  Contamination mistakes = levels.contamination();
  mistakes.false_hit = std::max(mistakes.false_hit, levels.most_false_hit);
  return mistakes;
}

// The share of pairs of one line that part by mistake, at most. One of both is mistaken, a little more often than known
// ones were, since strangers come and go. And it is either one as often: no more than twice as many pairs as those of
// the rarer kind, but for those that were taken for hits and brought back in between without the other.
double parted_by_mistake(const PairFates& pairs, const Contamination& mistakes) {
  constexpr double least_mistaken = 0.01, more = 1.2, deviations = 2;
  const double one = std::max({mistakes.false_miss, mistakes.false_hit, least_mistaken});
  const double known = std::min(0.5, 2 * more * one);
  if (pairs.parted.loads == 0) return known;
  const double rarer = std::min(pairs.asked_stayed, pairs.parted.misses - pairs.asked_stayed);
  const double brought_back = pairs.asked_lost * mistakes.false_hit / (1 - std::min(0.5, mistakes.false_hit));
  const double either = rarer + deviations * std::sqrt(rarer + 1);
  return std::clamp(more * (2 * either + brought_back) / pairs.parted.loads, 2 * more * least_mistaken, known);
}

// The same of pairs far apart, of which as many are mistaken as of all, and no more than any part where fewest do.
double parted_by_mistake_at_any(std::span<const PairFates> pairs, const PairFates& furthest,
                                const Contamination& mistakes) {
  constexpr double by_chance = 0.005;  // at one of ten distances
  using Binomial = boost::math::binomial_distribution<>;
  PairFates all = furthest;
  double fewest = 1;
  for (const PairFates& f : pairs) {
    all += f;
    if (f.parted.loads != 0)
      fewest = std::min(fewest, Binomial::find_upper_bound_on_p(f.parted.loads, f.parted.misses, by_chance));
  }
  return std::min(parted_by_mistake(all, mistakes), fewest);
}

// Whether what was pushed is less than the cache holds: if it isn't, two of five amounts push one of both out, of what
// goes by use or age or by chance.
bool do_most_stay(const PairFates& furthest) {
  constexpr double few = 0.25;  // less than these two by more than chance, and more than strangers' one in ten
  const double lost = furthest.asked_lost + furthest.both_lost + furthest.parted.misses;
  return furthest.parted.loads != 0 && lost < few * (furthest.parted.loads + furthest.asked_lost);
}

// Whether no more pairs part than by mistake. Two lines of one set of few ways part a tenth of the time: where one
// alone was pushed out, and the look at it didn't push out the other.
bool are_of_one_line(const PairFates& pairs, const Contamination& mistakes) {
  constexpr double by_chance = 0.05;
  const boost::math::binomial_distribution<> mistaken(pairs.parted.loads, parted_by_mistake(pairs, mistakes));
  return pairs.parted.misses == 0 ||
         boost::math::cdf(boost::math::complement(mistaken, pairs.parted.misses - 1)) >= by_chance;
}

// Pairs of which those that were looked at last weren't brought nearer by the look before, as far as chance tells.
std::vector<PairFates> without_brought_nearer(std::vector<PairFates> fates) {
  constexpr double by_chance = 0.02;
  for (PairFates& f : fates)
    if (f.last_stayed_by_chance() < by_chance) f.leave_out_brought_nearer();
  return fates;
}

Estimate line_by(const std::vector<PairFates>& all, const Contamination& mistakes) {
  const std::vector<PairFates> fates = without_brought_nearer(all);
  return line_of(std::span(fates).first(fates.size() - 1), fates.back(), mistakes);
}

// Of pairs that begin to part, in `fates`: where hardly as many of those looked at last stay by chance, more are looked
// at.
Expected<bool> look_more(LinePairs& pairs, std::uint64_t line_bytes, std::uint64_t spacing,
                         std::vector<PairFates>& fates) {
  constexpr double hardly_by_chance = 0.2;
  constexpr int times = 3;
  PairFates& parting = *std::ranges::find(fates, line_bytes, &PairFates::distance_bytes);
  if (parting.last_stayed_by_chance() >= hardly_by_chance) return false;
  for (int time = 0; time < times; ++time) {
    auto more = pairs.run({line_bytes}, spacing);
    if (!more) return tl::unexpected<Error>(more.error());
    parting += more->front();
  }
  return true;
}

// Whether halves of a line that `pairs` told stay together, twice as many pairs as told it, among single lines where
// those can be had. Where hardly any is lost that says little: of lines that are shorter so many bytes' don't fill the
// cache.
Expected<bool> do_halves_stay_together(Session& session, const CacheFacts& cache, LinePairs& pairs, Scope isolation,
                                       std::uint64_t capacity_bytes, std::uint64_t line_bytes, ConfirmedBy by) {
  const std::uint64_t spacing = cache.bank_bytes == 0 ? line_bytes / 2 : LinePairs::in_a_row;  // (over_banks)
  for (std::uint64_t more = 1; more <= most_times_more; more *= 2) {
    std::optional<LinePairs> larger;
    if (more > 1 && !larger.emplace(session, cache, more * capacity_bytes, isolation).has_room()) break;
    constexpr int times = 2;
    PairFates all;
    for (int time = 0; time < times; ++time) {
      auto halves = (larger ? *larger : pairs).run({line_bytes / 2}, spacing);
      if (!halves) return tl::unexpected<Error>(halves.error());
      all += halves->front();
    }
    if (by == ConfirmedBy::any_pairs || !do_most_stay(all))
      return all.parted.loads != 0 &&
             are_of_one_line(without_brought_nearer({all}).front(), most_mistakes(cache.levels));
  }
  return false;
}

}  // namespace

Estimate line_of(std::span<const PairFates> pairs, const PairFates& furthest, const Contamination& mistakes) {
  const double apart = furthest.parted.share() / 2;
  if (pairs.size() <= beyond_a_line || furthest.parted.loads == 0)
    return inconclusive("B", line_method, "nothing that is looked at stays until the next look");
  // Where the share rises with the distance, it is half as large at half of it: that mustn't look like mistakes.
  if (apart < parted_by_mistake_at_any(pairs, furthest, mistakes))
    return inconclusive("B", line_method, "lines far apart are lost together, too");
  // By each distance's own mistakes: halves of a line that come from different slices are mistaken more often.
  const auto as_one = [&](const PairFates& within) {
    return log_of_share_up_to(within.parted, parted_by_mistake(within, mistakes));
  };
  // Of the furthest some parted by mistake, which others needn't: neighbours in one slice are mistaken together.
  const double least = std::max(0.0, furthest.parted.share() - parted_by_mistake(furthest, mistakes)) / 2;
  const auto as_two = [&](const PairFates& beyond) { return log_of_share_from(beyond.parted, least); };
  // Beforehand, that distance isn't what parts pairs: then either answer is as likely at each.
  constexpr double by_chance = 0.05;
  Posterior p;
  double samples = furthest.parted.loads, none_of_them = std::log(by_chance);
  for (const PairFates& pair : pairs) {
    samples += pair.parted.loads;
    p.values.push_back(static_cast<double>(pair.distance_bytes));
    none_of_them += std::log(0.5) + std::max(as_one(pair), as_two(pair));
  }
  for (std::size_t line = 0; line <= pairs.size(); ++line) {  // the last one: longer than all
    double log_of_all = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) log_of_all += i < line ? as_one(pairs[i]) : as_two(pairs[i]);
    p.probability.push_back(log_of_all);
  }
  p.probability.push_back(none_of_them);
  p.probability = probabilities(std::move(p.probability));
  const std::size_t told = pairs.size() - beyond_a_line;
  p.values.resize(told);
  p.probability.resize(told);
  constexpr double surely = 0.95;  // values are far apart: an interval over two of them says nothing
  p.take_likeliest(surely);
  return estimate_of(p, line_method, static_cast<std::uint64_t>(samples),
                     {{}, {}, "at no distance do two loads begin to be lost one without the other"});
}

Expected<Estimate> measure_line(Session& session, const CacheFacts& cache, std::uint64_t capacity_bytes,
                                Scope isolation, ConfirmedBy confirmed_by) {
  // What one miss brings in comes back with the first of both that is looked at.
  if (cache.sector_bytes == 0) return inconclusive("B", line_method, "needs to know what one miss brings in");
  const std::uint64_t least = std::max<std::uint64_t>(8, cache.sector_bytes);
  if (least > largest_line_bytes)
    return inconclusive("B", line_method, fmt::format("one miss brings in more than {} B", largest_line_bytes));
  std::optional<LinePairs> pairs(std::in_place, session, cache, capacity_bytes, isolation);
  if (!pairs->has_room()) return inconclusive("B", line_method, "there is no room to overflow the cache");
  std::vector<std::uint64_t> distances;
  for (std::uint64_t d = least; d < furthest_bytes; d *= 2) distances.push_back(d);
  distances.push_back(furthest_bytes + least);  // not a power of two, which would often be of one set
  const Contamination mistakes = most_mistakes(cache.levels);
  // Where a set has one way lines next to one another are pushed out together by what lies in a row; what is spaced
  // by a line pushes out single ones.
  std::vector<std::uint64_t> spacings{in_a_row};
  if (cache.bank_bytes == 0)
    std::ranges::copy_if(distances, std::back_inserter(spacings), [](auto d) { return d <= largest_line_bytes; });
  Estimate line;
  std::vector<PairFates> fates;
  for (std::size_t i = 0; i < spacings.size() && !line.has_value(); ++i) {
    auto seen = pairs->run(distances, spacings[i]);
    for (std::uint64_t times = 1;
         times < most_times_more && seen && spacings[i] == in_a_row && do_most_stay(seen->back()); times *= 2) {
      LinePairs larger(session, cache, capacity_bytes *= 2, isolation);
      if (!larger.has_room()) break;
      seen = pairs.emplace(larger).run(distances, in_a_row);
    }
    if (!seen) return tl::unexpected<Error>(seen.error());
    fates = std::move(*seen);
    line = line_by(fates, mistakes);
    if (!line.has_value()) continue;
    auto more = look_more(*pairs, static_cast<std::uint64_t>(*line.value), spacings[i], fates);
    if (!more) return tl::unexpected<Error>(more.error());
    if (*more) line = line_by(fates, mistakes);
    if (!line.has_value()) continue;
    const auto bytes = static_cast<std::uint64_t>(*line.value);
    auto confirmed = bytes == least ? Expected<bool>(true)
                                    : do_halves_stay_together(session, cache, *pairs, isolation, capacity_bytes, bytes,
                                                              confirmed_by);
    if (!confirmed) return tl::unexpected<Error>(confirmed.error());
    if (!*confirmed)
      line = inconclusive("B", line_method, "halves of it are lost one without the other when they are asked again");
    else if (bytes > longest_line_bytes)
      line = inconclusive(
          "B", line_method,
          fmt::format("{:.0f} B come and go as one: a line so long, or lines that fill a set together", *line.value));
  }
  session.keep(line_curve(without_brought_nearer(fates), line, cache.path.id));
  return line;
}

}  // namespace gputopo::evidence
