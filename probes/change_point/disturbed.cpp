#include "change_point/disturbed.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "change_point/robust.hpp"
#include "stop/stop.hpp"

namespace gputopo::change_point {
namespace {

constexpr double of_so_many_rows = 50;         // a run begins at one
const double cost_of_another = std::log(2.0);  // as likely as not the next row is disturbed, too

struct Run {
  std::size_t first = 0, end = 0;
  std::size_t block = 0;  // where the level begins that it is held against
};

// What rows lose that have a level of their own, which may be any: of loads, each number of misses is as likely; of
// means, each that the rows span.
double cost_of_any_level(const Observation& row, const LevelModel& model, double span) {
  if (model.kind == LevelModel::Kind::gaussian) {
    constexpr double two_pi = 6.283185307179586;
    return std::max(0.0, std::log(span / std::sqrt(two_pi * model.variance / row.weight)));
  }
  const double sequences =
      std::lgamma(row.weight + 1) - std::lgamma(row.sum + 1) - std::lgamma(row.weight - row.sum + 1);
  return std::max(0.0, std::log(row.weight + 1) + sequences + block_log_likelihood(model, row.weight, row.sum));
}

double variance_of(const Observation& row, double level, const LevelModel& model) {
  return row.weight * (model.kind == LevelModel::Kind::gaussian ? model.variance : level * (1 - level));
}

// Neighbours that lie above the level that they share with others: what disturbs only adds.
std::vector<Run> above_their_level(std::span<const Observation> rows, const RisingLevels& rising,
                                   const LevelModel& model) {
  std::vector<Run> runs;
  for (std::size_t block = 0; block < rows.size(); block = rising.block(block).end)
    for (std::size_t i = block; i < rising.block(block).end; ++i) {
      const double level = rising.block(block).level(), off = rows[i].sum - rows[i].weight * level;
      if (off <= 0 || off * off <= variance_of(rows[i], level, model)) continue;
      if (!runs.empty() && runs.back().end == i && runs.back().block == block)
        ++runs.back().end;
      else
        runs.push_back({i, i + 1, block});
    }
  return runs;
}

// How much more rows differ from their levels than their loads explain, but for a tenth of them.
double scatter_of(std::span<const Observation> rows, const std::vector<double>& levels, const LevelModel& model) {
  std::vector<double> squares;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double off = rows[i].sum - rows[i].weight * levels[i], variance = variance_of(rows[i], levels[i], model);
    squares.push_back(variance > 0 ? off * off / variance : 0);
  }
  return std::max(1.0, mean_of_most(std::move(squares)));
}

std::vector<Observation> without_run(std::span<const Observation> rows, const Run& run) {
  std::vector<Observation> others(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(run.first));
  others.insert(others.end(), rows.begin() + static_cast<std::ptrdiff_t>(run.end), rows.end());
  return others;
}

struct Disturbed {
  Run run;
  double level = 0;  // around it
};

// Runs that the others gain enough without, each by itself.
std::vector<Disturbed> disturbed(std::span<const Observation> rows, const LevelModel& model, double span) {
  const RisingLevels rising(rows, model);
  std::vector<Disturbed> found;
  for (const Run& run : above_their_level(rows, rising, model)) {
    if (run.first == 0 || run.end == rows.size()) continue;
    const Block& block = rising.block(run.block);
    double cost = std::log(of_so_many_rows), own = 0, weight = block.weight, sum = block.sum;
    for (std::size_t i = run.first; i < run.end; ++i) {
      cost += cost_of_any_level(rows[i], model, span) + cost_of_another;
      own += block_log_likelihood(model, rows[i].weight, rows[i].sum);
      weight -= rows[i].weight, sum -= rows[i].sum;
    }
    // At least that is gained by the rest of its level alone; what levels before and within that gain is little more.
    constexpr double little_more = 1.5;
    const double gained = block_log_likelihood(model, weight, std::max(0.0, sum)) + own -
                          block_log_likelihood(model, block.weight, block.sum);
    if (little_more * gained < cost) continue;
    stop::look();
    const std::vector<Observation> others = without_run(rows, run);
    const RisingLevels without(others, model);
    const double gain = without.log_likelihood(0) + own - rising.log_likelihood(0);
    if (gain <= cost) continue;
    const std::vector<double> levels = without.fitted();
    if (gain / scatter_of(others, levels, model) > cost)
      found.push_back({run, (levels[run.first - 1] + levels[run.first]) / 2});
  }
  return found;
}

}  // namespace

std::vector<Observation> without_disturbed(std::span<const Observation> rows, const LevelModel& model) {
  constexpr std::size_t a_few_runs = 2, most_rounds = 4;
  constexpr double few_rows = 0.1, next_to_nothing = 1e-6;
  if (rows.empty()) return {};
  const auto [least, most] = std::minmax_element(
      rows.begin(), rows.end(), [](const Observation& a, const Observation& b) { return a.level() < b.level(); });
  const double span = most->level() - least->level();
  std::vector<Observation> told(rows.begin(), rows.end()), kept = told;
  std::vector<std::size_t> place(rows.size());
  std::iota(place.begin(), place.end(), std::size_t{0});
  std::size_t runs = 0;
  // Without some others show.
  for (std::size_t round = 0; round < most_rounds; ++round) {
    const std::vector<Disturbed> found = disturbed(kept, model, span);
    if (found.empty()) break;
    runs += found.size();
    for (auto it = found.rbegin(); it != found.rend(); ++it) {
      const auto begin = static_cast<std::ptrdiff_t>(it->run.first), end = static_cast<std::ptrdiff_t>(it->run.end);
      for (std::size_t i = it->run.first; i < it->run.end; ++i) {
        Observation& row = told[place[i]];
        row.weight *= next_to_nothing;
        row.sum = it->level * row.weight;
      }
      kept.erase(kept.begin() + begin, kept.begin() + end);
      place.erase(place.begin() + begin, place.begin() + end);
    }
    const auto count = static_cast<double>(rows.size() - kept.size());
    if (runs > a_few_runs && count > few_rows * static_cast<double>(rows.size())) return {rows.begin(), rows.end()};
  }
  return told;
}

}  // namespace gputopo::change_point
