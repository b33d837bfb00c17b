#include "evidence/inference/vote.hpp"

#include <algorithm>

#include <boost/math/distributions/binomial.hpp>

namespace gputopo::evidence {

Vote best_vote(std::size_t times, double there, double hidden, double lost, double faked) {
  using boost::math::binomial_distribution, boost::math::cdf, boost::math::complement;
  const auto n = static_cast<double>(times);
  const binomial_distribution<> found(n, 1 - std::min(1.0, hidden)), made_up(n, std::min(1.0, faked));
  Vote best{1, 1e300};
  for (std::size_t enough = 1; enough <= times; ++enough) {
    const double fewer = static_cast<double>(enough) - 1;
    const double wrong = there * cdf(found, fewer) + lost * cdf(complement(made_up, fewer));
    if (wrong < best.wrong) best = {enough, wrong};
  }
  return best;
}

}  // namespace gputopo::evidence
