#include "evidence/inference/period.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/posterior.hpp"

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

}  // namespace gputopo::evidence
