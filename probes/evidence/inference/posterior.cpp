#include "evidence/inference/posterior.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "evidence/inference/estimates.hpp"

namespace gputopo::evidence {
namespace {

constexpr double sure_bound = 0.975;  // as either end of a 95 % interval

Estimate bound(double value, Status status, double confidence, std::string_view note) {
  Estimate e = measured(value, "B", {}, 0);
  e.status = status;
  e.confidence = confidence;
  e.note = note;
  return e;
}

// How likely the value lies at or beyond the end, or at or beyond the first of these values from it on that leaves
// hardly anything to those before.
struct Beyond {
  double value = 0, mass = 0;
};

template <class Index>
Beyond beyond(const Posterior& p, double end, double mass, Index from_end) {
  Beyond b{end, mass};
  for (std::size_t i = 0; i < p.values.size() && b.mass < sure_bound; ++i) {
    b.mass += p.probability[from_end(i)];
    b.value = p.values[from_end(i)];
  }
  return b;
}

std::string noted(std::string_view why, bool is_within) {
  return is_within ? std::string(why) + "; so much for sure" : std::string(why);
}

Estimate answer(const Posterior& p, const Wording& wording) {
  if (p.at_least > better_part) {
    const Beyond b = beyond(p, p.most, p.at_least, [&](std::size_t i) { return p.values.size() - 1 - i; });
    if (b.mass < sure_bound) return inconclusive("B", {}, wording.undecided);
    return bound(b.value, Status::lower_bound, b.mass, noted(wording.at_least, b.value != p.most));
  }
  if (p.at_most > better_part) {
    const Beyond b = beyond(p, p.least, p.at_most, [](std::size_t i) { return i; });
    if (b.mass < sure_bound) return inconclusive("B", {}, wording.undecided);
    return bound(b.value, Status::upper_bound, b.mass, noted(wording.at_most, b.value != p.least));
  }
  if (p.inside() <= better_part || p.probability[p.best] <= p.least_of_best)
    return inconclusive("B", {}, wording.undecided);
  Estimate e = measured(p.values[p.best], "B", {}, 0);
  e.interval = p.credible(0.95);
  e.confidence = p.probability[p.best];
  return e;
}

}  // namespace

double Posterior::inside() const {
  return std::accumulate(probability.begin(), probability.end(), 0.0);
}

void Posterior::take_likeliest(double enough) {
  best = static_cast<std::size_t>(std::max_element(probability.begin(), probability.end()) - probability.begin());
  least_of_best = enough;
}

Interval Posterior::credible(double level) const {
  std::size_t first = best, last = best;
  double mass = probability[best];
  const double enough = level * inside();
  while (mass < enough) {
    const double below = first > 0 ? probability[first - 1] : -1;
    const double above = last + 1 < probability.size() ? probability[last + 1] : -1;
    if (below < 0 && above < 0) break;
    mass += std::max(below, above);
    below >= above ? --first : ++last;
  }
  return {values[first], values[last]};
}

Estimate estimate_of(const Posterior& posterior, std::string_view method, std::uint64_t samples,
                     const Wording& wording) {
  Estimate e = answer(posterior, wording);
  e.method = method;
  if (e.has_value()) e.samples = samples;
  return e;
}

std::vector<double> possible_spacings(const std::vector<double>& walked, double least, double most) {
  std::vector<double> spacings;
  for (double power = std::exp2(std::floor(std::log2(least)) + 1); power < most; power *= 2) spacings.push_back(power);
  for (const double bytes : walked)
    if (bytes > least && bytes < most) spacings.push_back(bytes);
  std::sort(spacings.begin(), spacings.end());
  spacings.erase(std::unique(spacings.begin(), spacings.end()), spacings.end());
  return spacings;
}

double log_prior_of_spacing(double bytes) {
  constexpr double one_in = 1000;
  int exponent = 0;
  return std::frexp(bytes, &exponent) == 0.5 ? 0 : -std::log(one_in);
}

std::vector<double> probabilities(std::vector<double> log_likelihoods) {
  const double highest = *std::max_element(log_likelihoods.begin(), log_likelihoods.end());
  double sum = 0;
  for (double& l : log_likelihoods) sum += l = std::exp(l - highest);
  for (double& l : log_likelihoods) l /= sum;
  return log_likelihoods;
}

}  // namespace gputopo::evidence
