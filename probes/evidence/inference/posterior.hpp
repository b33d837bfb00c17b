// From what is likely to what is said: value, interval, confidence, bound and 'inconclusive', in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "topology/estimate.hpp"

namespace gputopo::evidence {

inline constexpr double better_part = 0.5;

/// How likely each of some values is, and that it is none of them: beyond either end, or no such thing at all, which is
/// what the probabilities lack to 1.
struct Posterior {
  std::vector<double> values;       ///< ascending, bytes
  std::vector<double> probability;  ///< of each value
  double at_most = 0;               ///< probability of `least` or less
  double at_least = 0;              ///< probability of `most` or more
  double least = 0, most = 0;
  std::size_t best = 0;      ///< index of the value to report
  double least_of_best = 0;  ///< what that one must have to be reported

  double inside() const;
  /// Reports the likeliest value, if it has more than `enough` of the probability.
  void take_likeliest(double enough = better_part);
  /// The shortest run of values around the best one that has the share `level` of what all values have.
  Interval credible(double level) const;
};

/// What a line or a sector may have, of (`least`, `most`): what was walked, and all powers of two between. Ascending.
std::vector<double> possible_spacings(const std::vector<double>& walked, double least, double most);

/// How much less likely beforehand a line or a sector is that is no power of two (log): bits of an address say which
/// one it is, and no GPU is known where they don't.
double log_prior_of_spacing(double bytes);

/// What an answer's note says; `undecided` is the reason why none is given.
struct Wording {
  std::string_view at_most, at_least, undecided;
};

/// `measured` with a 95 % interval and the value's own probability as its confidence; where one of the two ends has the
/// better part of the probability, the bound on that side that holds with 97.5 % at least, as an interval's end does,
/// and with what it has as its confidence; `inconclusive` where there is none, and where neither of the ends nor all
/// values together have the better part.
Estimate estimate_of(const Posterior& posterior, std::string_view method, std::uint64_t samples,
                     const Wording& wording);

/// All of `log_likelihoods` equally likely beforehand.
std::vector<double> probabilities(std::vector<double> log_likelihoods);

}  // namespace gputopo::evidence
