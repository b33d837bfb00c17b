// A discovered topology against the truth of the model it was discovered on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.hpp"

namespace gputopo::test {

/// One attribute that isn't what the model says.
struct Difference {
  enum class Kind {
    wrong,      ///< stated as fact, and false
    undecided,  ///< inconclusive or a bound, where the truth could have been found
  };
  Kind kind = Kind::wrong;
  std::string memory;
  std::string attribute;
  std::string text;  ///< one line: what was found and what is true
};

enum class Exactness {
  to_the_byte,
  to_the_line,  ///< sizes may be a line off, or within their own 95 % interval if that is within 5 %
};

/// Sizes, lines and sectors are held to the byte (sizes swept in the L2 to 6 %, of odd models to 10 %, or their
/// interval), latencies and penalties to 1.5 cycles or 3 %, the greater; `not_supported` and physical caches must
/// agree; bounds must hold.
std::vector<Difference> differences(const Topology& found, const Topology& truth, Exactness exactness);

/// One line each.
std::string describe(const std::vector<Difference>& differences);

/// Relative tolerance of a size for `--method thesis`, whose last sweep has steps of the line but no residency.
bool within(double found, double truth, double relative);

}  // namespace gputopo::test
