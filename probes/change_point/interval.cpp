#include "change_point/interval.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "change_point/random.hpp"
#include "stop/stop.hpp"

namespace gputopo::change_point {
namespace {

constexpr std::size_t replicates = 80;
constexpr std::size_t rows_before = 16;
constexpr std::size_t rows_after = 32;

double draw(Random& random, const LevelModel& model, double weight, double level) {
  if (model.kind == LevelModel::Kind::binomial) {
    return static_cast<double>(random.binomial(static_cast<std::uint64_t>(weight), level));
  }
  return weight * level + random.normal() * std::sqrt(weight * model.variance);
}

}  // namespace

RowRange likelihood_ratio_set(const OnsetProfile& profile, double scale) {
  RowRange range{profile.last_before, profile.last_before};
  for (std::size_t i = 0; i < profile.log_likelihood.size(); ++i) {
    const double fixed = i < profile.with_fixed_misses.size() ? profile.with_fixed_misses[i] : OnsetProfile::impossible;
    if (std::max(profile.log_likelihood[i], fixed) >= profile.highest - 1.92 * scale) {
      range.first = std::min(range.first, i);
      range.last = std::max(range.last, i);
    }
  }
  return range;
}

Resampled bootstrap(std::span<const Observation> rows, const OnsetProfile& profile, const LevelModel& model,
                    const CapacityLaw& law, std::uint64_t seed) {
  const std::size_t tau = profile.last_before;
  const std::size_t first = tau > rows_before ? tau - rows_before : 0;
  const std::size_t last = std::min(rows.size() - 1, tau + rows_after);

  // What is drawn from: one block for the rows far before, the window, one block for the rows far after.
  std::vector<Observation> expected;
  Observation far_before;
  double base_weight = 0;
  double base_sum = 0;
  for (std::size_t i = 0; i <= tau; ++i) {
    base_weight += rows[i].weight;
    base_sum += rows[i].sum;
    if (i < first) {
      far_before = {rows[i].control, base_weight, base_sum};
    }
  }
  const double base = base_sum / base_weight;
  const double capacity = law.just_below(rows[std::min(tau + 1, rows.size() - 1)].control);
  if (first > 0) {
    expected.push_back({far_before.control, far_before.weight, base});
  }
  for (std::size_t i = first; i <= last; ++i) {
    expected.push_back({rows[i].control, rows[i].weight, i <= tau ? base : profile.fitted[i]});
  }
  if (last + 1 < rows.size()) {
    expected.push_back({rows.back().control, rows.back().weight, profile.fitted.back()});
  }

  const std::size_t offset = first - static_cast<std::size_t>(first > 0);  // of `expected` in `rows`
  std::vector<std::size_t> estimates;
  std::vector<Observation> drawn(expected.size());
  Random random(seed);
  for (std::size_t replicate = 0; replicate < replicates; ++replicate) {
    stop::look();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      drawn[i] = {expected[i].control, expected[i].weight, draw(random, model, expected[i].weight, expected[i].sum)};
      if (law.whole_laps && expected[i].control > capacity) {
        const double demanded = law.saturation * expected[i].weight * (1 - capacity / expected[i].control);
        drawn[i].sum = std::max(drawn[i].sum, std::floor(demanded - law.missing_loads));
      }
    }
    const OnsetProfile again = onset_profile(drawn, model, law);
    if (again.highest > OnsetProfile::impossible) {
      estimates.push_back(std::min(again.last_before + offset, last));
    }
  }
  if (estimates.empty()) {
    return {{tau, tau}, 0};
  }
  std::sort(estimates.begin(), estimates.end());
  const std::size_t tail = estimates.size() / 40;
  const auto agreeing = std::count(estimates.begin(), estimates.end(), tau);
  return {{estimates[tail], estimates[estimates.size() - 1 - tail]},
          static_cast<double>(agreeing) / static_cast<double>(replicates)};
}

}  // namespace gputopo::change_point
