#include "evidence/capacity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>

#include "evidence/estimates.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {
namespace {

struct Row {
  double bytes = 0, loads = 0, misses = 0;
};

double x_log_y(double x, double y) {
  return x > 0 ? x * std::log(y) : 0.0;
}

double log_likelihood(double loads, double misses, double p) {
  const double q = std::clamp(p, 1e-9, 1 - 1e-9);
  return x_log_y(misses, q) + x_log_y(loads - misses, 1 - q);
}

// The most that loads which all have one probability can have.
double free_level(double loads, double misses) {
  return loads == 0 ? 0 : log_likelihood(loads, misses, misses / loads);
}

std::vector<Row> rows_of(const Counts& counts) {
  std::map<double, Row> by_footprint;
  for (const Count& c : counts) {
    Row& row = by_footprint[c.footprint_bytes];
    row.bytes = c.footprint_bytes;
    row.loads += static_cast<double>(c.loads);
    row.misses += static_cast<double>(c.misses);
  }
  std::vector<Row> rows;
  for (const auto& [bytes, row] : by_footprint) rows.push_back(row);
  return rows;
}

// Pearson's chi-squared of launches within their rows over its degrees of freedom, never below 1.
double dispersion_of(const Counts& counts, const std::vector<Row>& rows) {
  double chi_squared = 0, degrees = 0;
  for (const Row& row : rows) {
    stop::look();
    const double p = row.misses / row.loads;
    if (p <= 0 || p >= 1) continue;
    double launches = 0;
    for (const Count& c : counts) {
      if (c.footprint_bytes != row.bytes) continue;
      const double n = static_cast<double>(c.loads);
      const double off = static_cast<double>(c.misses) - n * p;
      chi_squared += off * off / (n * p * (1 - p));
      ++launches;
    }
    degrees += launches - 1;
  }
  return degrees < 1 ? 1 : std::max(1.0, chi_squared / degrees);
}

// Rows that fit: the contamination, known from loads that were hits by construction, and perhaps a few fixed misses in
// each lap from some row on.
class Fitting {
 public:
  Fitting(std::span<const Row> rows, const Sweep& sweep) : rows_(rows), sweep_(sweep) {
    const Contamination& c = sweep.contamination;
    sums_.push_back({0, c.loads, c.loads * c.false_miss});
    for (const Row& row : rows)
      sums_.push_back({row.bytes, sums_.back().loads + row.loads, sums_.back().misses + row.misses});
    reference_ = free_level(c.loads, c.loads * c.false_miss);
  }

  // Of the first `count` rows.
  double operator()(std::size_t count) const {
    double best = free_level(sums_[count].loads, sums_[count].misses) - reference_;
    for (std::size_t step = 0; step < count && sweep_.own_lines; ++step) {
      const double before = free_level(sums_[step].loads, sums_[step].misses) - reference_;
      best = std::max(best, before + fixed_misses(step, count) - cost_of_fixed_misses);
    }
    return best;
  }

 private:
  // A fixed number of misses a lap: k of a footprint of n lines. Others' lines are few (docs/measuring.md): more than
  // these are no longer the kernel's own, and a cache whose every footprint misses more isn't one that fits.
  static constexpr double most_fixed_share = 0.05;
  static constexpr double most_fixed_lines = 2;
  static constexpr double cost_of_fixed_misses = 3;  // two parameters and a choice

  double fixed_misses(std::size_t first, std::size_t end) const {
    const double loads = sums_[end].loads - sums_[first].loads;
    const double misses = sums_[end].misses - sums_[first].misses;
    if (misses == 0) return -std::numeric_limits<double>::infinity();
    const double lines = rows_[first].bytes / sweep_.line_bytes;
    const double most = std::max(most_fixed_share, most_fixed_lines / lines) + sweep_.contamination.false_miss;
    return misses <= most * loads ? free_level(loads, misses) : -std::numeric_limits<double>::infinity();
  }

  std::span<const Row> rows_;
  const Sweep& sweep_;
  std::vector<Row> sums_;
  double reference_ = 0;
};

struct Block {
  double loads = 0, misses = 0, least = 0;  // `least`: loads that must miss
  double share() const { return misses / loads; }
};

// Rows that don't fit a capacity of `capacity` bytes: levels that never fall and never lie below what must miss.
double overflowing(std::span<const Row> rows, double capacity, double base, const Sweep& sweep) {
  const double top = 1 - sweep.contamination.false_hit;
  double loss = 0;
  std::vector<Block> blocks;
  for (const Row& row : rows) {
    const double must = std::max(0.0, 1 - capacity / row.bytes);
    Block block{row.loads, row.misses, row.loads * (base + (top - base) * must)};
    if (sweep.whole_laps) {
      // Misses that must be there and aren't: each a miss counted as a hit.
      const double lacking = row.loads * must - row.misses - 3 * std::sqrt(row.loads * must * (1 - top));
      if (lacking > 0) loss += lacking * -std::log(std::clamp(sweep.contamination.false_hit, 1e-5, 0.5));
    }
    while (!blocks.empty() && blocks.back().share() >= block.share()) {
      block.loads += blocks.back().loads;
      block.misses += blocks.back().misses;
      block.least += blocks.back().least;
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  double sum = -loss;
  for (const Block& b : blocks) sum += log_likelihood(b.loads, b.misses, std::max(b.share(), b.least / b.loads));
  return sum;
}

}  // namespace

CapacityPosterior capacity_posterior(const Counts& counts, const Sweep& sweep) {
  CapacityPosterior result;
  const std::vector<Row> rows = rows_of(counts);
  const double base = sweep.contamination.false_miss;
  const double scale = dispersion_of(counts, rows);
  const Fitting fitting(rows, sweep);
  std::vector<double> log_weight;
  for (std::size_t fit = 0; fit <= rows.size(); ++fit) {
    stop::look();
    const auto beyond = std::span(rows).subspan(fit);
    const double capacity = fit == rows.size() ? 0 : rows[fit].bytes - sweep.line_bytes;
    log_weight.push_back((fitting(fit) + (beyond.empty() ? 0 : overflowing(beyond, capacity, base, sweep))) / scale);
  }
  const double highest = *std::max_element(log_weight.begin(), log_weight.end());
  Sweep free = sweep;
  free.whole_laps = false;
  result.misfit = overflowing(rows, rows.back().bytes, 0, free) / scale - highest;
  for (const Row& row : rows) {
    result.footprints_bytes.push_back(row.bytes);
    result.loads += static_cast<std::uint64_t>(row.loads);
    const double held = std::min(1.0, 1 - (row.misses / row.loads - base) / (1 - base));
    result.lowest_held_bytes = std::max(result.lowest_held_bytes, row.bytes * held);
  }
  double sum = 0;
  for (double& w : log_weight) sum += w = std::exp(w - highest);
  for (double& w : log_weight) w /= sum;
  result.none_fits = log_weight.front();
  result.probability.assign(log_weight.begin() + 1, log_weight.end());
  return result;
}

std::size_t CapacityPosterior::best() const {
  // Levels that only rise follow the counts' scatter and gain a parameter's worth (AIC) on a level that is constant: of
  // rows that are nearly as likely the last one is the better.
  const double nearly = std::exp(-1.0);
  const auto end = probability.size() > 1 ? probability.end() - 1 : probability.end();
  const double most = *std::max_element(probability.begin(), end);
  std::size_t best = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(end - probability.begin()); ++i)
    if (probability[i] >= nearly * most) best = i;
  return best;
}

Interval CapacityPosterior::credible(double level) const {
  const std::size_t middle = best();
  const double inside = std::accumulate(probability.begin(), probability.end() - 1, 0.0);
  std::size_t first = middle, last = middle;
  double mass = probability[middle];
  const std::size_t end = probability.size() - 1;
  while (mass < level * inside) {
    const double below = first > 0 ? probability[first - 1] : -1;
    const double above = last + 1 < end ? probability[last + 1] : -1;
    if (below < 0 && above < 0) break;
    mass += std::max(below, above);
    below >= above ? --first : ++last;
  }
  return {footprints_bytes[first], footprints_bytes[last]};
}

Estimate capacity_estimate(const CapacityPosterior& posterior, std::string_view method) {
  constexpr double better_part = 0.5;
  // A model whose best row is e^20 less likely than misses that merely rise doesn't describe these counts, but for what
  // a threshold that is a little off for a few of very many loads explains.
  const double most_misfit = std::max(20.0, 0.002 * static_cast<double>(posterior.loads));
  if (posterior.misfit > most_misfit)
    return inconclusive("B", method, "misses rise with the footprint, but not as those of a full cache do");
  const double all_fit = posterior.probability.back();
  const double inside = 1 - all_fit - posterior.none_fits;
  if (all_fit > better_part) {
    Estimate e = measured(posterior.footprints_bytes.back(), "B", method, posterior.loads);
    e.status = Status::lower_bound;
    e.confidence = all_fit;
    e.note = "the largest footprint tried still fits";
    return e;
  }
  if (posterior.none_fits > better_part) {
    Estimate e = measured(posterior.footprints_bytes.front(), "B", method, posterior.loads);
    e.status = Status::upper_bound;
    e.confidence = posterior.none_fits;
    e.note = "the smallest footprint tried doesn't fit";
    return e;
  }
  if (inside <= better_part) return inconclusive("B", method, "the sweep doesn't tell whether the size lies within it");
  const std::size_t best = posterior.best();
  Estimate e = measured(posterior.footprints_bytes[best], "B", method, posterior.loads);
  e.interval = posterior.credible(0.95);
  e.confidence = posterior.probability[best];
  return e;
}

}  // namespace gputopo::evidence
