// How much farther than the average a line's slice is from an SM.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/sim/model.hpp"
#include "device/sim/random.hpp"
#include "device/sim/set_index.hpp"

namespace gputopo::sim {

/// The distances of one SM to all slices. Fixed by SM and slice; 0 on average over the slices.
class Distances {
 public:
  Distances() = default;
  /// `group`: the SM's group by Scope.
  Distances(const Model& model, const std::array<std::uint32_t, 6>& group);

  bool any() const { return side_cycles_ != 0 || !terms_.empty(); }
  /// Cycles to add to a load of `address` that is served beyond the SMs.
  double cycles(std::uint64_t address) const {
    const std::uint64_t slice = by_slice_.divide(address).quotient;
    const std::uint64_t mixed = mix(count_ == 0 ? slice : mix(slice) % count_);
    double sum = side_cycles_ * side_offset(mixed);
    for (const Term& t : terms_) sum += t.amplitude_cycles * offset(mixed, t);
    return sum;
  }

 private:
  struct Term {
    double amplitude_cycles;
    std::uint64_t salt;
    std::uint32_t steps;
  };
  // In [-1, 1], the same for the same group and slice.
  static double offset(std::uint64_t mixed, const Term& term) {
    const std::uint64_t bits = mix(mixed ^ term.salt);
    if (term.steps == 0) return static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
    const std::uint64_t step = ((bits >> 32) * term.steps) >> 32;
    return 2.0 * static_cast<double>(step) / (term.steps - 1) - 1.0;
  }
  // -1 for a slice on the SM's side of the chip, and what balances it for the others.
  double side_offset(std::uint64_t mixed) const {
    if (by_sides_.value() < 2) return 0;
    return by_sides_.divide(mixed).remainder == side_ ? -1.0 : 1.0 / static_cast<double>(by_sides_.value() - 1);
  }

  Divisor by_slice_, by_sides_;
  std::uint32_t side_ = 0;
  double side_cycles_ = 0;
  std::uint32_t count_ = 0;  // of slices; 0: each stretch is one
  std::vector<Term> terms_;
};

/// The most that Distances can add or take away.
double largest_distance_cycles(const DistanceModel& distance);

}  // namespace gputopo::sim
