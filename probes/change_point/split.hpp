// The best single split of a series.
//
// "Opt" of Größler, "Capturing the Memory Topology of GPUs", TUM 2022, algorithm 1, restricted to one change point;
// here exact in linear time by prefix sums instead of quadratic. Costs: L2 (change in mean), normal likelihood (change
// in mean and variance; Killick, Fearnhead & Eckley, JASA 107, 2012), ranks (L2 on mid-ranks: any monotone distortion
// of the values gives the same split, outliers count once).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gputopo::change_point {

enum class Cost { l2, normal, rank };

/// Mid-ranks, 1 .. n; equal values share their mean rank.
std::vector<double> mid_ranks(std::span<const double> series);

/// Cost of any segment of one series in constant time.
class SegmentCost {
 public:
  SegmentCost(std::span<const double> series, Cost cost);

  /// Cost of [begin, end), begin < end. L2 and rank: sum of squares around the mean. Normal: minus twice the maximised
  /// log-likelihood, n (log(variance + `variance_floor`) + log 2 pi + 1).
  double operator()(std::size_t begin, std::size_t end) const;

  /// Mean of [begin, end) in the series' unit (of the ranks, for rank).
  double mean(std::size_t begin, std::size_t end) const {
    return center_ + (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
  }

  /// Shortest segment the cost can judge: 2 for normal, else 1.
  std::size_t shortest() const { return cost_ == Cost::normal ? 2 : 1; }
  std::size_t size() const { return sums_.size() - 1; }

  /// Keeps a segment without any spread from being infinitely likely. Added, not a lower limit: so splitting never
  /// raises the cost, which PELT's pruning rests on.
  static constexpr double variance_floor = 1e-8;

 private:
  Cost cost_;
  double center_ = 0;
  std::vector<double> sums_;
  std::vector<double> squares_;
};

struct Split {
  std::size_t first_after = 0;  ///< index of the first element after the change
  double cost = 0;              ///< of both sides together
  double cost_without = 0;      ///< of the series unsplit
};

/// The cheapest split (the earliest of equals); nothing if the series is too short for two segments. Time
/// grows with the series; that of ranks (SegmentCost) is n log n.
std::optional<Split> best_split(const SegmentCost& cost);

}  // namespace gputopo::change_point
