// How long a line of a cache may be.
#pragma once

#include <cstdint>

namespace gputopo::evidence {

/// The longest line of a cache there has been (docs/domain.md).
inline constexpr std::uint64_t longest_line_bytes = 256;

}  // namespace gputopo::evidence
