#include "evidence/inference/capacity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "evidence/inference/estimates.hpp"
#include "evidence/inference/fitting_rows.hpp"
#include "stop/stop.hpp"

namespace gputopo::evidence {
namespace {

using change_point::block_log_likelihood;
using change_point::level_log_likelihood;
using change_point::LevelModel;
using change_point::Observation;

std::vector<Observation> rows_of(const Counts& counts) {
  std::map<double, Observation> by_footprint;
  for (const Count& c : counts) {
    Observation& row = by_footprint[c.footprint_bytes];
    row.control = c.footprint_bytes;
    row.weight += static_cast<double>(c.loads);
    row.sum += static_cast<double>(c.misses);
    row.in_front += static_cast<double>(c.in_front);
  }
  std::vector<Observation> rows;
  for (const auto& [bytes, row] : by_footprint) rows.push_back(row);
  return rows;
}

// Pearson's chi-squared of launches within their rows over its degrees of freedom, never below 1.
double dispersion_of(const Counts& counts, const std::vector<Observation>& rows) {
  std::map<double, double> share_of;
  for (const Observation& row : rows) share_of[row.control] = row.level();
  std::map<double, double> launches;
  double chi_squared = 0;
  for (const Count& c : counts) {
    const double p = share_of[c.footprint_bytes];
    if (p <= 0 || p >= 1) continue;
    const double n = static_cast<double>(c.loads);
    const double off = static_cast<double>(c.misses) - n * p;
    chi_squared += off * off / (n * p * (1 - p));
    ++launches[c.footprint_bytes];
  }
  double degrees = 0;
  for (const auto& [bytes, n] : launches) degrees += n - 1;
  return degrees < 1 ? 1 : std::max(1.0, chi_squared / degrees);
}

// The same of rows around levels that only rise: of what fits, misses that come in bursts (lines that random
// replacement lets go of ever more slowly, another SM of the same cache) differ between rows as well, most of which are
// launched once.
double dispersion_of(std::span<const Observation> rows, const LevelModel& levels) {
  const change_point::RisingLevels rising(rows, levels);
  std::size_t blocks = 0;
  for (std::size_t first = 0; first < rows.size(); first = rising.block(first).end) ++blocks;
  return change_point::dispersion(rows, rising.fitted(), levels, blocks);
}

// The same of what fits around its mean, or from `fixed_from` on the one with fixed misses, by blocks of ever more
// rows: what disturbs may come and go slowly, and levels that only rise take that for the end of what fits.
double slow_dispersion_of(std::span<const Observation> rows, std::size_t fixed_from) {
  constexpr std::size_t least_blocks = 6;
  constexpr double deviations = 4, least_expected = 5;  // of fewer misses a block chi-squared isn't (Cochran 1954)
  Observation parts[2];
  const auto part_of = [&](std::size_t row) -> Observation& { return parts[row < fixed_from ? 0 : 1]; };
  for (std::size_t i = 0; i < rows.size(); ++i) part_of(i).weight += rows[i].weight, part_of(i).sum += rows[i].sum;
  const double all = parts[0].sum + parts[1].sum;
  double most = 1;
  for (std::size_t size = 1; size * least_blocks <= rows.size(); size *= 2) {
    std::vector<Observation> blocks;
    std::vector<double> levels;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % size == 0) blocks.push_back({}), levels.push_back(0);
      blocks.back().weight += rows[i].weight, blocks.back().sum += rows[i].sum;
      levels.back() += part_of(i).level() * rows[i].weight;
    }
    if (all < least_expected * static_cast<double>(blocks.size())) continue;
    for (std::size_t i = 0; i < blocks.size(); ++i) levels[i] /= blocks[i].weight;
    const double degrees = static_cast<double>(blocks.size()) - 1;
    const double ratio = change_point::dispersion(blocks, levels, LevelModel{}, 1);
    if (ratio > 1 + deviations * std::sqrt(2 / degrees)) most = std::max(most, ratio);
  }
  return most;
}

// The log-likelihood of 'these rows fit and no others', which gets ever smaller the nearer one looks: levels that only
// rise are quickly found, what they lack to a full cache's misses isn't looked for where the rest is out of question.
class Likelihood {
 public:
  Likelihood(std::span<const Observation> rows, const Sweep& sweep)
      : rows_(rows), sweep_(sweep), rising_(rows, sweep.levels), fitting_(rows, sweep, rising_) {
    const double sees = 1 - sweep.contamination.false_hit;
    top_ = sweep.saturation < 0 ? rising_.top() : sees * sweep.saturation;
  }

  // That the first `fit` rows do; -infinity where it lies below `least`.
  double operator()(std::size_t fit, double least) const {
    const FittingRows::Fit fitting = fitting_(fit);
    const double most = fitting.log_likelihood + rising_.log_likelihood(fit);
    if (fit == rows_.size()) return most;
    if (most < least || (fit == 0 && sweep_.first_fits)) return never;
    const double capacity = rows_[fit].control - sweep_.line_bytes;
    const double enough = most - least;
    double loss = sweep_.whole_laps ? lacking(fit, capacity, fitting, enough) : 0;
    if (loss <= enough)
      loss += below_pigeonhole(fit, capacity, base_of(fit, fitting), enough - loss) + unlikely_overflow(fit, fitting);
    return loss > enough ? never : most - loss;
  }
  std::size_t fixed_from(std::size_t fit) const { return fitting_(fit).fixed_from; }
  double all_fit() const { return fitting_(rows_.size()).log_likelihood; }
  double isotonic() const { return rising_.log_likelihood(0); }

  static constexpr double never = -1e300;

 private:
  bool weighs_rises() const { return !sweep_.foreign && !sweep_.by_law_alone; }

  // An overflow that shows in none of n loads, each of a line of its own: as its level may be any, one in n + 1 does.
  // One that shows in few of them is of few bytes at most, by the pigeonhole, and the capacity may lie anywhere between
  // two footprints.
  double unlikely_overflow(std::size_t first, const FittingRows::Fit& fitting) const {
    const change_point::Block& block = rising_.block(first);
    if (sweep_.by_law_alone) return 0;
    if (sweep_.foreign && block.level() <= fitting.base)
      return std::log(block.weight * sweep_.lines_a_load * sweep_.pieces_a_line + 1);
    if (first == 0 || sweep_.levels.kind == LevelModel::Kind::gaussian) return 0;
    const double share = (block.level() - fitting.base + 1 / block.weight) / std::max(top_ - fitting.base, 1e-9);
    const double most = std::max(share * rows_[first].control, sweep_.line_bytes);
    const double step = rows_[first].control - rows_[first - 1].control;
    const double beyond = std::min(step, most);
    return std::log(step / beyond) + (sweep_.foreign ? 0 : late_rise(first, beyond, fitting));
  }

  // Sets overflow one after the other: a line beyond the capacity costs about as many misses as each one further on. If
  // the first ones (`beyond` bytes) cost less, by any factor r, that is as likely as the factor is large: 1 / r.
  double late_rise(std::size_t first, double beyond, const FittingRows::Fit& fitting) const {
    const std::size_t next = rising_.block(first).end;
    if (next == rows_.size()) return 0;
    const double fixed = fitting.base + fitting.fixed_misses * sweep_.line_bytes / rows_[first].control;
    const double least = beyond / rows_[first].control;
    const double at_first = std::max(rising_.block(first).level() - fixed, least) / beyond;
    const double then = (rising_.block(next).level() - fixed) / (beyond + rows_[next].control - rows_[first].control);
    return then > at_first ? std::log(then / at_first) : 0;
  }

  // Misses of whole laps that must be there and aren't: each a miss counted as a hit. Beside a fixed number of them, as
  // a rule: that lines which are missing anyhow make room for the first beyond happens in about one cache of twenty.
  double lacking(std::size_t first, double capacity, const FittingRows::Fit& fitting, double enough) const {
    constexpr double one_in_twenty = 3;
    const double loss = lacking(first, capacity, 0, enough);
    if (fitting.fixed_misses == 0 || !weighs_rises() || loss > enough) return loss;
    return std::min(loss + one_in_twenty, lacking(first, capacity, fitting.fixed_misses, enough));
  }
  double lacking(std::size_t first, double capacity, double fixed_misses, double enough) const {
    const double false_hit = sweep_.contamination.false_hit;
    const double each = -std::log(std::clamp(false_hit, 1e-5, 0.5));
    const double share = std::max(0.0, sweep_.saturation);
    double loss = 0;
    for (std::size_t i = first; i < rows_.size() && loss <= enough; ++i) {
      const Observation& row = rows_[i];
      const double must = share * std::max(0.0, row.weight - capacity * row.walked_by_control()) +
                          fixed_misses * row.weight * sweep_.line_bytes / row.control;
      loss += each * std::max(0.0, must - sweep_.dropped_loads - row.sum - 3 * std::sqrt(must * false_hit));
    }
    return loss;
  }

  // The level that what doesn't fit rises from: that of what fits, as far as the loads that hit by construction leave
  // it open. What misses more in every row are misses, not strangers.
  double base_of(std::size_t first, const FittingRows::Fit& fitting) const {
    constexpr double deviations = 3;
    const bool are_means = sweep_.levels.kind == LevelModel::Kind::gaussian;
    if (are_means && first == 0) return rising_.block(0).level();
    if (are_means || sweep_.foreign) return fitting.base;
    const Contamination& c = sweep_.contamination;
    const double off = deviations * std::sqrt(c.false_miss * (1 - c.false_miss) / std::max(1.0, c.loads));
    return std::clamp(fitting.base, std::max(0.0, c.false_miss - off), c.false_miss + off);
  }

  // What levels lose by having to lie where the pigeonhole puts them on the average.
  double below_pigeonhole(std::size_t first, double capacity, double base, double enough) const {
    const double top = std::max(top_, base);
    const double highest = base + (top - base) * (1 - capacity / rows_.back().control);
    double loss = 0;
    for (std::size_t i = first; i < rows_.size() && loss <= enough; i = rising_.block(i).end) {
      const change_point::Block& block = rising_.block(i);
      if (block.level() >= highest) break;  // levels only rise from here on
      const double least = base + (top - base) * (1 - capacity * block.walked_by_control / block.weight);
      if (block.level() < least)  // of lines that miss together one says as much as all
        loss += sweep_.pieces_a_line * (block_log_likelihood(sweep_.levels, block.weight, block.sum) -
                                        level_log_likelihood(sweep_.levels, block.weight, block.sum, least));
    }
    return loss;
  }

  std::span<const Observation> rows_;
  const Sweep& sweep_;
  change_point::RisingLevels rising_;
  FittingRows fitting_;
  double top_ = 1;
};

// The greatest of all likelihoods, or one near it: what lies far below needn't be looked at closely.
double high_likelihood(const Likelihood& likelihood, std::size_t rows) {
  double highest = likelihood.all_fit();
  std::size_t at = rows / 2;
  for (std::size_t step = rows; step > 0; step /= 2)
    for (const std::size_t fit : {at - std::min(at, step), at, std::min(at + step, rows)})
      if (const double l = likelihood(fit, 2 * Likelihood::never); l > highest) highest = l, at = fit;
  return highest;
}

}  // namespace

CapacityPosterior capacity_posterior(const Counts& counts, const Sweep& sweep) {
  const std::vector<Observation> rows = rows_of(counts);
  Sweep by_launches = sweep;
  by_launches.scatter = std::max(sweep.scatter, dispersion_of(counts, rows));
  const CapacityPosterior posterior = capacity_posterior(rows, by_launches);
  const double surely = posterior.none_fits > better_part ? 0 : posterior.credible(0.95).low;
  const auto end = std::find_if(rows.begin(), rows.end(), [&](const Observation& row) { return row.control > surely; });
  const std::span fitting(rows.begin(), end);
  const double of_rows =
      std::max(dispersion_of(fitting, sweep.levels), slow_dispersion_of(fitting, posterior.fixed_from));
  if (of_rows <= by_launches.scatter) return posterior;
  by_launches.scatter = of_rows;
  CapacityPosterior wider = capacity_posterior(rows, by_launches);
  wider.answer = posterior.best();  // scatter says how sure, not which, nor that it is no such cache
  wider.misfit = std::max(wider.misfit, posterior.misfit);
  return wider;
}

CapacityPosterior capacity_posterior(std::span<const Observation> rows, const Sweep& sweep) {
  constexpr double out_of_question = 40;  // e^-40 of the likeliest
  CapacityPosterior result;
  const Likelihood likelihood(rows, sweep);
  const double least = high_likelihood(likelihood, rows.size()) - out_of_question * sweep.scatter;
  std::vector<double> log_weight;
  for (std::size_t fit = 0; fit <= rows.size(); ++fit) {
    stop::look();
    log_weight.push_back(likelihood(fit, least) / sweep.scatter);
  }
  const double highest = *std::max_element(log_weight.begin(), log_weight.end());
  result.misfit = likelihood.isotonic() / sweep.scatter - highest;
  for (const Observation& row : rows) {
    result.footprints_bytes.push_back(row.control);
    result.loads += static_cast<std::uint64_t>(row.weight);
  }
  if (sweep.foreign) {  // as likely beforehand as all other answers together
    log_weight.back() += std::log(static_cast<double>(rows.size()));
    result.slack = 0.5;  // an overflow that isn't seen has cost its part already
  }
  // Levels that only rise follow the counts' scatter and gain a parameter's worth (AIC) on a level that is constant.
  if (sweep.by_law_alone) result.slack = 1;
  result.probability = probabilities(std::move(log_weight));
  result.none_fits = result.probability.front();
  result.probability.erase(result.probability.begin());
  result.fixed_from = likelihood.fixed_from(result.best() + 1);
  return result;
}

std::size_t CapacityPosterior::best() const {
  if (answer) return *answer;
  // Of rows that are nearly as likely the last one is the better.
  const double nearly = std::exp(-slack);
  const auto end = probability.size() > 1 ? probability.end() - 1 : probability.end();
  const double most = *std::max_element(probability.begin(), end);
  std::size_t best = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(end - probability.begin()); ++i)
    if (probability[i] >= (nearly - 1e-9) * most) best = i;
  return best;
}

Posterior CapacityPosterior::within() const {
  Posterior p;
  p.values.assign(footprints_bytes.begin(), footprints_bytes.end() - 1);
  p.probability.assign(probability.begin(), probability.end() - 1);
  p.at_most = none_fits;
  p.at_least = probability.back();
  p.least = footprints_bytes.front();
  p.most = footprints_bytes.back();
  p.best = best();
  return p;
}

Interval CapacityPosterior::credible(double level) const {
  if (footprints_bytes.size() < 2) return {footprints_bytes.front(), footprints_bytes.front()};
  return within().credible(level);
}

Estimate capacity_estimate(const CapacityPosterior& posterior, std::string_view method) {
  // A model whose best row is e^20 less likely than misses that merely rise doesn't describe these counts, but for what
  // a threshold that is a little off for a few of very many loads explains.
  const double most_misfit = std::max(20.0, 0.002 * static_cast<double>(posterior.loads));
  if (posterior.misfit > most_misfit)
    return inconclusive("B", method, "misses rise with the footprint, but not as those of a full cache do");
  return estimate_of(posterior.within(), method, posterior.loads,
                     {"the smallest footprint tried doesn't fit", "the largest footprint tried still fits",
                      "the sweep doesn't tell whether the size lies within it"});
}

}  // namespace gputopo::evidence
