// Several looks at the same place: how many have to agree.
#pragma once

#include <cstddef>

namespace gputopo::evidence {

struct Vote {
  std::size_t enough = 1;  ///< so many looks that find something say that it is there
  double wrong = 0;        ///< places judged wrongly, expected
};

/// The vote of `times` looks that judges the fewest places wrongly: of `there` where something is a look misses it with
/// probability `hidden`, of `lost` where nothing is a look finds something with probability `faked`.
Vote best_vote(std::size_t times, double there, double hidden, double lost, double faked);

}  // namespace gputopo::evidence
