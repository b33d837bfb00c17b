#include "device/sim/cache_array.hpp"

#include <algorithm>
#include <vector>

namespace gputopo::sim {

// Set by set instead of line by line: sets know nothing of each other, and few lines of each decide what is left.
std::uint64_t CacheArray::sweep(std::uint64_t first, std::uint64_t end, std::uint32_t tag_class, std::uint32_t sectors,
                                Random& random) {
  if (first >= end) return 0;
  const std::uint64_t sets = index_.sets();
  const std::uint64_t first_row = first / sets;
  const std::uint64_t last_row = (end - 1) / sets;
  std::vector<std::uint32_t> rotations;
  for (std::uint64_t row = first_row; row <= last_row; ++row) rotations.push_back(index_.rotation(row));
  const auto line_of = [&](std::uint64_t set, std::size_t row) {
    const std::uint64_t turned = set + sets - rotations[row];
    return (first_row + row) * sets + (turned >= sets ? turned - sets : turned);
  };
  std::uint64_t misses = 0;
  for (std::uint32_t set = 0; set < sets; ++set) {
    // The first and the last row may lie in the range only in part.
    const std::size_t skipped = line_of(set, 0) < first ? 1 : 0;
    const std::size_t rows = rotations.size() - (line_of(set, rotations.size() - 1) >= end ? 1 : 0);
    if (rows <= skipped) continue;
    misses += packed_->access_all(
        set, static_cast<std::uint32_t>(rows - skipped),
        [&](std::uint32_t i) { return key_of(line_of(set, skipped + i), tag_class); }, sectors, random);
  }
  return misses;
}

}  // namespace gputopo::sim
