#include "change_point/isotonic.hpp"

#include <algorithm>
#include <cmath>

#include "stop/stop.hpp"

namespace gputopo::change_point {
namespace {

double x_log_y(double x, double y) {
  return x > 0 ? x * std::log(y) : 0.0;
}

}  // namespace

double level_log_likelihood(const LevelModel& model, double weight, double sum, double level) {
  if (model.kind == LevelModel::Kind::gaussian) {
    return (sum * level - 0.5 * weight * level * level) / model.variance;
  }
  const double share = std::clamp(level, 1e-9, 1 - 1e-9);
  return x_log_y(sum, share) + x_log_y(weight - sum, 1 - share);
}

double block_log_likelihood(const LevelModel& model, double weight, double sum) {
  return weight == 0 ? 0 : level_log_likelihood(model, weight, sum, sum / weight);
}

RisingLevels::RisingLevels(std::span<const Observation> rows, const LevelModel& model)
    : blocks_(rows.size()), log_likelihoods_(rows.size() + 1, 0) {
  for (std::size_t i = rows.size(); i-- > 0;) {
    stop::look();
    Block block{i, i + 1, rows[i].weight, rows[i].sum, rows[i].walked_by_control()};
    while (block.end < rows.size() && blocks_[block.end].level() <= block.level()) {
      const Block& next = blocks_[block.end];
      block.weight += next.weight;
      block.sum += next.sum;
      block.walked_by_control += next.walked_by_control;
      block.end = next.end;
    }
    log_likelihoods_[i] = log_likelihoods_[block.end] + block_log_likelihood(model, block.weight, block.sum);
    blocks_[i] = block;
    top_ = block.end == rows.size() ? block.level() : top_;
  }
}

std::vector<double> RisingLevels::fitted() const {
  std::vector<double> levels;
  while (levels.size() < size()) {
    const Block& next = blocks_[levels.size()];
    levels.resize(next.end, next.level());
  }
  return levels;
}

double dispersion(std::span<const Observation> rows, std::span<const double> levels, const LevelModel& model,
                  std::size_t parameters) {
  if (rows.size() <= parameters) {
    return 1;
  }
  double chi_squared = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double variance = model.kind == LevelModel::Kind::binomial ? rows[i].weight * levels[i] * (1 - levels[i])
                                                                     : rows[i].weight * model.variance;
    const double difference = rows[i].sum - rows[i].weight * levels[i];
    if (variance > 0) {
      chi_squared += difference * difference / variance;
    }
  }
  return std::max(1.0, chi_squared / static_cast<double>(rows.size() - parameters));
}

double gain_of_rising(std::span<const Observation> rows, const RisingLevels& rising, const LevelModel& model) {
  double weight = 0, sum = 0;
  for (const Observation& row : rows) weight += row.weight, sum += row.sum;
  return std::max(0.0, rising.log_likelihood(0) - block_log_likelihood(model, weight, sum));
}

}  // namespace gputopo::change_point
