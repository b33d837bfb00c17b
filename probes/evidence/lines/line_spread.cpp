#include "evidence/lines/line_spread.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/hypergeometric.hpp>
#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/lines/near_and_far.hpp"
#include "evidence/looks/structure.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::string_view spread_method = "looks_by_line";

// The share's quantile of ascending numbers, with its distribution-free interval (order statistics).
Estimate quantile_estimate(const std::vector<double>& ascending, double share) {
  const auto n = static_cast<double>(ascending.size());
  const auto at = [&](double rank) { return ascending[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))]; };
  const double reach = 1.96 * std::sqrt(n * share * (1 - share));  // normal limit of the binomial
  constexpr double half_a_cycle = 0.5;
  Estimate e = measured(at(std::floor(n * share)), "cycles", spread_method, ascending.size());
  e.interval =
      Interval{at(std::floor(n * share - reach)) - half_a_cycle, at(std::ceil(n * share + reach)) + half_a_cycle};
  return e;
}

// Each line by every other of its looks.
std::vector<double> half_of(const LooksByLine& looks, std::size_t from) {
  LooksByLine half;
  for (const auto& of_line : looks) {
    half.emplace_back();
    for (std::size_t i = from; i < of_line.size(); i += 2) half.back().push_back(of_line[i]);
  }
  return undisturbed_by_line(std::move(half));
}

// How far a line's own latency may be off by the noise of its looks (95 %): half of what its halves differ by, since
// each has half as many. The mean of nearly all lines, for what strangers do to one isn't noise.
double noise_of(const LooksByLine& looks) {
  constexpr double nearly_all = 0.95, normal = 1.96, half_a_cycle = 0.5;
  constexpr double deviation_of_mean = 1.2533;  // of absolute values
  const std::vector<double> even = half_of(looks, 0), odd = half_of(looks, 1);
  if (even.empty() || even.size() != odd.size()) return half_a_cycle;
  std::vector<double> apart;
  for (std::size_t i = 0; i < even.size(); ++i) apart.push_back(std::fabs(even[i] - odd[i]));
  std::sort(apart.begin(), apart.end());
  apart.resize(std::max<std::size_t>(1, static_cast<std::size_t>(nearly_all * static_cast<double>(apart.size()))));
  const double mean = std::accumulate(apart.begin(), apart.end(), 0.0) / static_cast<double>(apart.size());
  return half_a_cycle + normal * deviation_of_mean * mean / 2;
}

// How two halves of the looks agree about which lines lie above a border: the four-fold table's correlation, which no
// single slow line moves, how probable as many lines above it in both halves are if each half knows nothing of the
// other one (Fisher's exact test: few lines may lie above a middle that whole cycles share), and the share of lines
// that both put on one side.
struct Agreement {
  double correlation = 0, by_chance = 1, share = 0;
};

Agreement agreement(const std::vector<double>& a, const std::vector<double>& b, double border) {
  const auto lines = static_cast<unsigned>(a.size());
  unsigned both = 0, first = 0, second = 0, same = 0;
  for (unsigned i = 0; i < lines; ++i) {
    const bool x = a[i] > border, y = b[i] > border;
    both += x && y ? 1 : 0, first += x ? 1 : 0, second += y ? 1 : 0, same += x == y ? 1 : 0;
  }
  const auto n = static_cast<double>(lines), u = static_cast<double>(first), v = static_cast<double>(second);
  Agreement found{0, 1, static_cast<double>(same) / n};
  if (const double variance = u * (n - u) * v * (n - v); variance > 0)
    found.correlation = (n * static_cast<double>(both) - u * v) / std::sqrt(variance);
  // Below the fewest that the margins allow, all of the probability lies above.
  if (both > 0 && both > first + second - std::min(first + second, lines)) {
    const boost::math::hypergeometric_distribution<> unrelated(first, second, lines);
    found.by_chance = cdf(complement(unrelated, both - 1));
  }
  return found;
}

Statement kinds_of(LineSpread& spread, const LooksByLine& looks, const std::vector<double>& ascending) {
  constexpr double chance = 3.2e-5;   // four standard errors' where there are many lines
  constexpr double nearly_all = 0.9;  // lines that have to keep their kind; by chance half of them do
  const std::vector<double> even = half_of(looks, 0), odd = half_of(looks, 1);
  const std::size_t n = ascending.size();
  if (even.size() != n || odd.size() != n) return undecided(spread_method, "too few looks at each line");
  Histogram of_lines;
  for (const double cycles : ascending) add(of_lines, static_cast<std::uint32_t>(cycles));
  const std::vector<Mode> modes = modes_of(of_lines);
  const std::uint64_t samples = total(histogram_of(looks));
  if (modes.size() > 1) {
    // Lines of two sides keep theirs though each side's rows are open now and then: so at every border.
    double kept = agreement(even, odd, two_kinds(spread.own).threshold).share;
    for (std::size_t i = 1; i < modes.size(); ++i)
      kept = std::min(kept, agreement(even, odd, (modes[i - 1].centre + modes[i].centre) / 2).share);
    if (kept < nearly_all) {
      const std::string why =
          fmt::format("loads fall into {} kinds, but only {:.0f} % of the lines keep theirs", modes.size(), 100 * kept);
      // Such as found a row open: the quicker looks at a line aren't what it takes by itself.
      for (Estimate* e : {&spread.low, &spread.middle, &spread.high}) bound_below(*e, why);
      return undecided(spread_method, why);
    }
    Statement s = decided(modes.size() == 2 ? "two_kinds" : "several_kinds", spread_method, samples);
    for (const Mode& m : modes)
      s.note += fmt::format("{}{:.0f} % at {:.0f}", s.note.empty() ? "" : ", ", 100 * m.share, m.centre);
    s.note += fmt::format(" cycles as timed; {:.1f} % of the lines keep their kind", 100 * kept);
    return s;
  }
  const Agreement halves = agreement(even, odd, ascending[n / 2]);
  Statement s = decided(halves.by_chance < chance ? "spread" : "alike", spread_method, samples);
  s.note =
      fmt::format("whether a line is slower than most agrees between two halves of the looks by {:.2f} (1: always)",
                  halves.correlation);
  return s;
}

// What one load in twenty takes longer than its line's own. Queues and refreshes delay loads of one look together: the
// interval is as wide as the share of what is as slow differs from look to look.
Estimate excess_of(const LooksByLine& looks, const std::vector<double>& own) {
  constexpr double share = 0.95, normal = 1.96;
  std::vector<double> excess;
  for (std::size_t line = 0; line < looks.size(); ++line)
    for (const std::uint32_t cycles : looks[line]) excess.push_back(cycles - own[line]);
  std::sort(excess.begin(), excess.end());
  Estimate e = quantile_estimate(excess, share);
  std::vector<double> slow, loads;  // by look
  for (std::size_t line = 0; line < looks.size(); ++line) {
    slow.resize(std::max(slow.size(), looks[line].size())), loads.resize(slow.size());
    for (std::size_t look = 0; look < looks[line].size(); ++look)
      slow[look] += looks[line][look] - own[line] > *e.value ? 1 : 0, ++loads[look];
  }
  const auto count = static_cast<double>(slow.size());
  double squares = 0;
  for (std::size_t look = 0; look < slow.size(); ++look) squares += std::pow(slow[look] / loads[look] - (1 - share), 2);
  const double error = normal * std::sqrt(squares / std::max(1.0, count - 1) / count);
  const auto at = [&](double quantile) {
    const double rank = std::floor(quantile * static_cast<double>(excess.size()));
    return excess[static_cast<std::size_t>(std::clamp(rank, 0.0, static_cast<double>(excess.size() - 1)))];
  };
  e.interval->low = std::min(e.interval->low, at(share - error));
  e.interval->high = std::max(e.interval->high, at(share + error));
  return e;
}

}  // namespace

LineSpread line_spread(const LooksByLine& looks) {
  LineSpread spread;
  spread.own = undisturbed_by_line(looks);
  if (spread.own.empty() || spread.own.size() != looks.size()) {
    constexpr std::string_view why = "too few looks at each line";
    spread.low = spread.middle = spread.high = spread.slow_load = inconclusive("cycles", spread_method, why);
    spread.by_line = undecided(spread_method, why);
    return spread;
  }
  std::vector<double> ascending = spread.own;
  std::sort(ascending.begin(), ascending.end());
  spread.low = quantile_estimate(ascending, 0.05);
  spread.middle = quantile_estimate(ascending, 0.5);
  spread.high = quantile_estimate(ascending, 0.95);
  // The slowest of lines that are alike are those that noise made slow.
  const double noise = noise_of(looks);
  for (Estimate* e : {&spread.low, &spread.middle, &spread.high}) e->interval->low -= noise, e->interval->high += noise;
  spread.slow_load = excess_of(looks, spread.own);
  spread.by_line = kinds_of(spread, looks, ascending);
  return spread;
}

}  // namespace gputopo::evidence
