#include "change_point/onset.hpp"

#include <algorithm>
#include <cmath>

#include "stop/stop.hpp"

namespace gputopo::change_point {
namespace {

// The base may itself rise once, from 'nothing' to a few fixed misses, at the price of two parameters and a choice.
constexpr double loss_of_fixed_step = 3;
constexpr double loss_of_choice = 1;
constexpr std::size_t rows_of_a_level = 3;

// Where every row before the rise has this many misses, a level of its own and no accident, an isotonic fit gains on a
// level by following their scatter: the likelihood-ratio set's bound serves there.
constexpr double noisy_misses = 8;
constexpr double slack_of_noise = 1.92;
constexpr double largest_fixed_share = 0.05;
constexpr std::size_t most_steps = 8;

double x_log_y(double x, double y) {
  return x > 0 ? x * std::log(y) : 0.0;
}

// A run of rows that share one level.
struct Block {
  double weight = 0;
  double sum = 0;
  double unclear = 0;
  double weight_by_control = 0;  ///< sum of weight / control, for the mean of the lower bound 1 - C/s
  std::size_t rows = 0;
  double below = 0;  ///< log-likelihood of all blocks under this one on the stack, this one included

  double level() const { return sum / weight; }
  void merge(const Block& other) {
    weight += other.weight;
    sum += other.sum;
    unclear += other.unclear;
    weight_by_control += other.weight_by_control;
    rows += other.rows;
  }
};

// Isotonic regression from the last row to the first; the top of the stack is the earliest block.
class BlockStack {
 public:
  explicit BlockStack(const LevelModel& model) : model_(model) {}

  void push_front(const Observation& row) {
    Block block{row.weight, row.sum, row.unclear, row.weight / row.control, 1, 0};
    while (!blocks_.empty() && blocks_.back().level() <= block.level()) {
      block.merge(blocks_.back());
      blocks_.pop_back();
    }
    block.below = log_likelihood() + block_log_likelihood(model_, block.weight, block.sum);
    blocks_.push_back(block);
  }
  double log_likelihood() const { return blocks_.empty() ? 0 : blocks_.back().below; }
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  const LevelModel& model_;
  std::vector<Block> blocks_;
};

// What the blocks lose by having to lie above base + (top - base) * (1 - capacity / size).
double loss_by_lower_bound(const LevelModel& model, const CapacityLaw& law, const BlockStack& stack, double capacity,
                           double last_control, double base, double top) {
  // A miss that the law demands and that isn't there has probability 0 on whole laps, but for a mistaken boundary.
  constexpr double loss_a_missing_miss = 10;
  const double highest_bound = base + (top - base) * (1 - capacity / last_control);
  double loss = 0;
  for (std::size_t i = stack.blocks().size(); i-- > 0;) {
    const Block& block = stack.blocks()[i];
    const double level = block.level();
    if (level >= highest_bound) {
      break;  // levels only rise from here on
    }
    const double bound = base + (top - base) * (1 - capacity * block.weight_by_control / block.weight);
    if (level < bound) {
      loss += block_log_likelihood(model, block.weight, block.sum) -
              level_log_likelihood(model, block.weight, block.sum, bound);
      if (law.whole_laps) {
        const double demanded = law.saturation * (block.weight - capacity * block.weight_by_control);
        const double missing =
            demanded - block.sum - block.unclear - law.missing_loads * static_cast<double>(block.rows);
        loss += loss_a_missing_miss * std::max(0.0, missing - 0.5);
      }
    }
  }
  return loss;
}

}  // namespace

double block_log_likelihood(const LevelModel& model, double weight, double sum) {
  if (model.kind == LevelModel::Kind::binomial) {
    return x_log_y(sum, sum / weight) + x_log_y(weight - sum, 1 - sum / weight);
  }
  return 0.5 * sum * sum / weight / model.variance;
}

double level_log_likelihood(const LevelModel& model, double weight, double sum, double level) {
  if (model.kind == LevelModel::Kind::binomial) {
    return x_log_y(sum, level) + x_log_y(weight - sum, 1 - level);
  }
  return (sum * level - 0.5 * weight * level * level) / model.variance;
}

double OnsetProfile::statistic() const {
  return std::max(0.0, 2 * (highest - null_log_likelihood));
}

OnsetProfile onset_profile(std::span<const Observation> rows, const LevelModel& model, const CapacityLaw& law) {
  OnsetProfile profile;
  const std::size_t count = rows.size();
  profile.log_likelihood.assign(count, OnsetProfile::impossible);
  profile.with_fixed_misses.assign(count, OnsetProfile::impossible);
  profile.fitted.resize(count);

  std::vector<double> weights(count + 1, 0);
  std::vector<double> sums(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i) {
    weights[i + 1] = weights[i] + rows[i].weight;
    sums[i + 1] = sums[i] + rows[i].sum;
  }
  profile.null_log_likelihood = block_log_likelihood(model, weights[count], sums[count]);

  BlockStack whole(model);
  for (std::size_t i = count; i-- > 0;) {
    whole.push_front(rows[i]);
  }
  profile.isotonic_log_likelihood = whole.log_likelihood();
  profile.top_level = whole.blocks().front().level();
  std::size_t next = 0;
  std::vector<std::size_t> steps;  // last rows before the isotonic fit rises for the first few times
  for (std::size_t i = whole.blocks().size(); i-- > 0;) {
    const Block& block = whole.blocks()[i];
    std::fill_n(profile.fitted.begin() + static_cast<std::ptrdiff_t>(next), block.rows, block.level());
    next += block.rows;
    if (model.kind == LevelModel::Kind::binomial && steps.size() < most_steps) {
      steps.push_back(next - 1);
    }
  }

  const auto stepped_log_likelihood = [&](std::size_t tau, std::size_t fewest_rows) {
    double best = OnsetProfile::impossible;
    for (const std::size_t step : steps) {
      if (step + fewest_rows > tau) {
        break;
      }
      const double weight = weights[tau + 1] - weights[step + 1];
      const double sum = sums[tau + 1] - sums[step + 1];
      if (sum <= largest_fixed_share * weight) {
        best = std::max(best, block_log_likelihood(model, weights[step + 1], sums[step + 1]) +
                                  block_log_likelihood(model, weight, sum));
      }
    }
    return best;
  };

  BlockStack after(model);
  for (std::size_t tau = count - 1; tau-- > 0;) {
    stop::look();
    after.push_front(rows[tau + 1]);
    const double base = sums[tau + 1] / weights[tau + 1];
    if (after.blocks().back().level() <= base) {
      continue;  // the level would not rise here
    }
    const double top = std::max(law.saturation < 0 ? profile.top_level : law.saturation, base);
    const double level = block_log_likelihood(model, weights[tau + 1], sums[tau + 1]);
    const double rise =
        after.log_likelihood() -
        loss_by_lower_bound(model, law, after, law.just_below(rows[tau + 1].control), rows.back().control, base, top);
    profile.log_likelihood[tau] = std::max(level, stepped_log_likelihood(tau, 1) - loss_of_fixed_step) + rise;
    profile.with_fixed_misses[tau] = stepped_log_likelihood(tau, rows_of_a_level) - loss_of_choice + rise;
    profile.highest = std::max(profile.highest, profile.log_likelihood[tau]);
  }
  const auto slack_at = [&](std::size_t tau) {
    const bool is_noisy = sums[tau + 1] >= noisy_misses * static_cast<double>(tau + 1);
    return model.kind == LevelModel::Kind::binomial && is_noisy ? slack_of_noise : slack;
  };
  for (std::size_t tau = 0; tau + 1 < count; ++tau) {
    if (profile.log_likelihood[tau] > OnsetProfile::impossible &&
        profile.log_likelihood[tau] >= profile.highest - slack_at(tau)) {
      profile.last_before = tau;
    }
  }
  return profile;
}

}  // namespace gputopo::change_point
