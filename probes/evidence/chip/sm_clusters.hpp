// SMs that see the chip alike: correlation of their latency vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/looks/structure.hpp"

namespace gputopo::evidence {

/// Pearson's correlation of every pair of rows.
class Correlations {
 public:
  explicit Correlations(const std::vector<std::vector<double>>& rows);
  std::size_t size() const { return r_.size(); }
  double between(std::size_t i, std::size_t j) const { return i == j ? 1 : i > j ? r_[i][j] : r_[j][i]; }
  double between(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) const;
  /// Average with the others of a set; 1 where there is none.
  double with(std::uint32_t i, const std::vector<std::uint32_t>& others) const;

 private:
  std::vector<std::vector<double>> r_;  // below the diagonal
};

/// As many sets of SMs as there are sides, whose vectors run against each other, by average linkage; one set of all
/// where there are none. Takes time and memory in proportion to the pairs of SMs.
SmSets opposite_sides(const Correlations& r, std::size_t sides);

/// The least sure member's margin: its average correlation with its own set less that with the next best one.
double separation(const Correlations& r, const SmSets& sets);

}  // namespace gputopo::evidence
