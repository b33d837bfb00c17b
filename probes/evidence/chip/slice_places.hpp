// Where on the chip lines of an L2 lie: lines of one slice take the same from each SM, wherever these are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gputopo::evidence {

/// What loads of each line take from each of several SMs, cycles: by line, then by SM.
using Fingerprints = std::vector<std::vector<double>>;

struct SlicePlaces {
  std::size_t count = 0;             ///< of several lines each; slices in one place, or as far from all SMs, are one
  std::vector<std::size_t> of_line;  ///< numbered as they come; `count` for a line that is like no other
  double noise_cycles = 0;           ///< standard error of what looks at a line say
  std::string why_open;              ///< empty where places were told apart
};

/// Of two halves of the looks, which say by how much looks differ. Lines of equal latencies within that are of one
/// place; places nearer to one another than lines can be told apart by are one.
SlicePlaces slice_places(const Fingerprints& first, const Fingerprints& second);

}  // namespace gputopo::evidence
