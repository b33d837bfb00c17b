#include "evidence/inference/sameness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/special_functions/beta.hpp>

namespace gputopo::evidence {
namespace {

// std::lgamma leaves the sign in a variable of the whole process, which threads would race for.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double log_beta(double a, double b) {
  return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
}

// The beta-binomial log-probability of `seen`, given a control of that share whose walks vary by `spread`.
double log_predictive(const Tally& seen, const Tally& control, double spread) {
  const double p = (control.misses + 0.5) / (control.loads + 1);
  // A beta distribution's weight w has variance p (1 - p) / (w + 1); the control's own loads bound it, too.
  const double from_spread = std::max(1.0, p * (1 - p) / (spread * spread) - 1);
  const double weight = std::max(2.0, std::min(control.loads + 1, from_spread));
  const double a = p * weight, b = (1 - p) * weight;
  return log_beta(a + seen.misses, b + seen.loads - seen.misses) - log_beta(a, b);
}

// Of its share, by how few loads there were.
double variance(const Tally& control) {
  const double p = (control.misses + 0.5) / (control.loads + 1);
  return p * (1 - p) / (control.loads + 1);
}

constexpr double share_of_others = 0.1;  // beforehand
constexpr double no_chance = 1e-300;     // whose logarithm is a number

double log_of_any_share(const Tally& seen) {
  return log_beta(1 + seen.misses, 1 + seen.loads - seen.misses);
}

Tally together(const Replicates& runs) {
  return std::accumulate(runs.begin(), runs.end(), Tally{}, [](Tally sum, const Tally& run) { return sum += run; });
}

// The squared standard error of the runs' mean share.
double error_squared(const Replicates& runs) {
  const auto n = static_cast<double>(runs.size());
  if (runs.size() < 2) return 0;
  double mean = 0, square = 0;
  for (const Tally& run : runs) mean += run.share() / n;
  for (const Tally& run : runs) square += (run.share() - mean) * (run.share() - mean);
  return square / (n - 1) / n;
}

}  // namespace

double log_of_share_up_to(const Tally& seen, double most) {
  const double a = seen.misses + 1, b = seen.loads - seen.misses + 1;
  return log_beta(a, b) + std::log(std::max(boost::math::ibeta(a, b, most), no_chance) / most);
}

double log_of_share_from(const Tally& seen, double least) {
  const double a = seen.misses + 1, b = seen.loads - seen.misses + 1;
  return log_beta(a, b) + std::log(std::max(boost::math::ibetac(a, b, least), no_chance) / (1 - least));
}

Sameness sameness(const Replicates& seen, const Replicates& if_same, const Replicates& if_apart) {
  const Tally sum = together(seen), same = together(if_same);
  // Runs that lose ever more than the control did differ in what says nothing against it.
  const double own = sum.share() > same.share() ? 0 : error_squared(seen);
  return sameness(sum, same, together(if_apart), std::sqrt(least_spread * least_spread + own + error_squared(if_same)));
}

Sameness sameness(const Tally& seen, const Tally& if_same, const Tally& if_apart, double spread) {
  Sameness s;
  // Controls that don't differ can't decide anything, nor those that may by chance.
  const double error = std::sqrt(spread * spread + variance(if_same) + variance(if_apart));
  if (seen.loads == 0 || if_same.share() - if_apart.share() < 2 * error) return s;
  const double same = log_predictive(seen, if_same, spread);
  const double apart = log_predictive(seen, if_apart, spread);
  // The third possibility: something of another kind, of which any share is equally likely.
  const double other = log_of_any_share(seen);
  const double highest = std::max({same, apart, other});
  const double weight_same = std::exp(same - highest), weight_apart = std::exp(apart - highest);
  const double weight_other = share_of_others * std::exp(other - highest);
  s.probability = weight_same / (weight_same + weight_apart);
  const double all = weight_same + weight_apart + weight_other;
  // Missing more than even the control of 'the same' did is no third kind, nor what is as near to a control as walks
  // vary: at an end, where a control's walks hardly can, being off by little is unlikely of either.
  const bool beyond = seen.share() >= if_same.share() || seen.share() <= if_apart.share();
  const double off = std::min(std::fabs(seen.share() - if_same.share()), std::fabs(seen.share() - if_apart.share()));
  const bool is_either = beyond || off < std::min(spread, least_spread);
  const double best = std::max(weight_same, weight_apart) / (is_either ? weight_same + weight_apart : all);
  if (beyond)
    s.probability = seen.share() >= if_same.share() ? std::max(s.probability, 0.99) : std::min(s.probability, 0.01);
  s.decided = beyond || (best > 0.9 && std::max(s.probability, 1 - s.probability) >= 0.99);
  return s;
}

double probability_of_the_same_share(const Tally& seen, const Tally& control, const Tally& if_apart) {
  const double same = log_predictive(seen, control, least_spread);
  const double apart = std::log(1 - share_of_others) + log_predictive(seen, if_apart, least_spread);
  const double other = std::log(share_of_others) + log_of_any_share(seen);
  return 1 / (1 + std::exp(apart - same) + std::exp(other - same));
}

std::string_view verdict_of(const Sameness& s) {
  if (!s.decided) return "undecided";
  return s.probability > 0.5 ? "same" : "apart";
}

}  // namespace gputopo::evidence
