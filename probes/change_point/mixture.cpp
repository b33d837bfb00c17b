#include "change_point/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stop/stop.hpp"

namespace gputopo::change_point {
namespace {

double floor_of_deviation(double mean) {
  return std::max(0.5, 0.002 * mean);
}

double log_density(const Component& component, double value) {
  const double z = (value - component.mean) / component.deviation;
  return std::log(component.weight / component.deviation) - 0.5 * z * z;
}

struct Moments {
  double count = 0;
  double sum = 0;
  double squares = 0;
  void add(double value, double weight) {
    count += weight;
    sum += weight * value;
    squares += weight * value * value;
  }
  Component component(double total) const {
    const double mean = sum / count;
    const double variance = std::max(0.0, squares / count - mean * mean);
    return {count / total, mean, std::max(floor_of_deviation(mean), std::sqrt(variance))};
  }
  // Log-likelihood of these values under the Gaussian fitted to them, up to a constant a value.
  double log_likelihood() const {
    if (count <= 0) {
      return 0;
    }
    const Component fitted = component(count);
    const double mean_square = std::max(0.0, squares / count - fitted.mean * fitted.mean);
    return -count * (std::log(fitted.deviation) + 0.5 * mean_square / (fitted.deviation * fitted.deviation));
  }
};

struct Fit {
  std::vector<Component> components;
  double log_likelihood = -std::numeric_limits<double>::infinity();
};

Fit maximise(std::vector<Component> components, std::span<const Bin> bins, double total) {
  constexpr int max_rounds = 40;
  Fit fit{std::move(components), -std::numeric_limits<double>::infinity()};
  std::vector<double> log_densities;
  for (int round = 0; round < max_rounds; ++round) {
    stop::look();
    std::vector<Moments> moments(fit.components.size());
    log_densities.resize(fit.components.size());
    double log_likelihood = 0;
    for (const Bin& bin : bins) {
      double highest = -std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < fit.components.size(); ++c) {
        log_densities[c] = log_density(fit.components[c], bin.value);
        highest = std::max(highest, log_densities[c]);
      }
      double sum = 0;
      for (double& density : log_densities) {
        // Shares below e^-30 change no sum that matters, and the exponential is the cost of the whole fit.
        density = density - highest < -30 ? 0 : std::exp(density - highest);
        sum += density;
      }
      const double count = static_cast<double>(bin.count);
      log_likelihood += count * (highest + std::log(sum));
      for (std::size_t c = 0; c < fit.components.size(); ++c) {
        moments[c].add(bin.value, count * log_densities[c] / sum);
      }
    }
    const bool settled = log_likelihood - fit.log_likelihood < 1e-6 * std::abs(log_likelihood) + 1e-3;
    fit.log_likelihood = log_likelihood;
    if (settled && round > 0) {
      break;
    }
    std::vector<Component> next;
    for (const Moments& part : moments) {
      if (part.count > 1e-9) {
        next.push_back(part.component(total));
      }
    }
    fit.components = std::move(next);
  }
  std::sort(fit.components.begin(), fit.components.end(),
            [](const Component& a, const Component& b) { return a.mean < b.mean; });
  return fit;
}

std::size_t nearest(std::span<const Component> components, double value) {
  std::size_t best = 0;
  double highest = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < components.size(); ++c) {
    const double density = log_density(components[c], value);
    if (density > highest) {
      highest = density;
      best = c;
    }
  }
  return best;
}

// Replaces the component whose members gain most likelihood from being split in two; empty if none gains.
std::vector<Component> split_best(std::span<const Component> components, std::span<const Bin> bins, double total) {
  std::vector<std::vector<Bin>> members(components.size());
  for (const Bin& bin : bins) {
    members[nearest(components, bin.value)].push_back(bin);
  }
  double best_gain = 0;
  std::size_t best_component = 0;
  Component best_low;
  Component best_high;
  for (std::size_t c = 0; c < components.size(); ++c) {
    Moments all;
    for (const Bin& bin : members[c]) {
      all.add(bin.value, static_cast<double>(bin.count));
    }
    Moments low;
    for (std::size_t i = 0; i + 1 < members[c].size(); ++i) {
      low.add(members[c][i].value, static_cast<double>(members[c][i].count));
      const Moments high{all.count - low.count, all.sum - low.sum, all.squares - low.squares};
      const double share = low.count / all.count;
      const double entropy = all.count * (share * std::log(share) + (1 - share) * std::log(1 - share));
      const double gain = low.log_likelihood() + high.log_likelihood() + entropy - all.log_likelihood();
      if (gain > best_gain) {
        best_gain = gain;
        best_component = c;
        best_low = low.component(total);
        best_high = high.component(total);
      }
    }
  }
  if (best_gain <= 0) {
    return {};
  }
  std::vector<Component> result(components.begin(), components.end());
  result[best_component] = best_low;
  result.push_back(best_high);
  return result;
}

}  // namespace

std::vector<Component> fit_mixture(std::span<const Bin> bins, std::size_t max_components) {
  if (bins.empty()) {
    return {};
  }
  Moments all;
  for (const Bin& bin : bins) {
    all.add(bin.value, static_cast<double>(bin.count));
  }
  const double total = all.count;
  Fit best = maximise({all.component(total)}, bins, total);
  const double penalty = 1.5 * std::log(total);  // three parameters a component
  while (best.components.size() < max_components) {
    const auto split = split_best(best.components, bins, total);
    if (split.empty()) {
      break;
    }
    Fit refined = maximise(split, bins, total);
    if (refined.components.size() <= best.components.size() || refined.log_likelihood - best.log_likelihood < penalty) {
      break;
    }
    best = std::move(refined);
  }
  return best.components;
}

Boundary boundary_at(std::span<const Bin> bins, std::size_t first_upper, double step) {
  Moments low, all;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const auto count = static_cast<double>(bins[i].count);
    all.add(bins[i].value, count);
    if (i < first_upper) low.add(bins[i].value, count);
  }
  const Moments high{all.count - low.count, all.sum - low.sum, all.squares - low.squares};
  Boundary boundary;
  boundary.threshold_cycles = bins[first_upper].value;
  boundary.lower_mean = low.sum / low.count;
  boundary.upper_mean = high.sum / high.count;
  boundary.lower_deviation =
      std::sqrt(std::max(0.0, low.squares / low.count - boundary.lower_mean * boundary.lower_mean));
  boundary.upper_share = high.count / all.count;
  boundary.step = step;
  const double gap = boundary.upper_mean - boundary.lower_mean;
  boundary.between_variance = boundary.upper_share * (1 - boundary.upper_share) * gap * gap;
  boundary.middle = (bins[first_upper - 1].value + bins[first_upper].value) / 2;
  boundary.near = std::min(gap, 2 * step) / 8;  // a few far loads move the sides' means
  return boundary;
}

std::vector<Boundary> boundaries_of(std::span<const Component> components, std::span<const Bin> bins) {
  std::vector<Boundary> boundaries;
  for (std::size_t c = 0; c + 1 < components.size(); ++c) {
    // The first bin above the lower component's mean that the components above c explain better.
    std::size_t first_upper = bins.size();
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const double value = bins[i].value;
      if (value <= components[c].mean) continue;
      double below = 0;
      double above = 0;
      for (std::size_t other = 0; other < components.size(); ++other) {
        (other <= c ? below : above) += std::exp(log_density(components[other], value));
      }
      if (above > below || value >= components[c + 1].mean) {
        first_upper = i;
        break;
      }
    }
    if (first_upper == 0 || first_upper == bins.size()) {
      continue;
    }
    const Boundary boundary = boundary_at(bins, first_upper, components[c + 1].mean - components[c].mean);
    if (boundaries.empty() || boundary.threshold_cycles > boundaries.back().threshold_cycles) {
      boundaries.push_back(boundary);
    }
  }
  return boundaries;
}

}  // namespace gputopo::change_point
