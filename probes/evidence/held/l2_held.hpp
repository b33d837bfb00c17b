// How much the L2 holds of footprints, as an SM finds it: by counts of near lines that agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "evidence/held/held.hpp"
#include "evidence/held/l2_rows.hpp"

namespace gputopo::evidence {

/// Footprints to count at, the first and the most, bytes.
struct Footprints {
  double first = 0, most = 0;
};

/// Twice what about fits, and more: of half as much again some sets get fewer lines than they have ways, where a hash
/// deals these out, of 16 ways and 24 lines 0.8 % stay empty.
Footprints overflowing(const device::DeviceInfo& info, std::uint64_t about_bytes);

inline constexpr std::size_t most_l2_counts = 5;

/// What is held of footprints: the share of lines that are near. Steady where two counts agree, the second of more, and
/// of twice as much as the first found at least, where there is so much; walked_bytes tell it by one count then. Errors
/// are the session's.
Expected<Held> count_near(L2Rows& rows, L2Rows::Asked& asked, const Levels& levels, const Footprints& footprints,
                          std::size_t most_counts, Care care = Care::few_looks);

/// Whether many looks at so much are more than few: large footprints take too long to warm.
bool may_look_more(const L2Rows& rows, double bytes);

/// The method of what is found near before other hits are slower.
inline constexpr std::string_view slower_hits = "slower_hits";

/// What was counted.
Estimate counted_near(const Held& held);

/// Whether that tells a size to a twentieth.
bool is_telling(const Estimate& counted);

/// The same so that the next count says it as well: `nominal_bytes`, what the driver says of it (0: nothing), where
/// that is as near as rounding goes, else rounded (rounded_count). Its interval holds that and its note says the count.
Estimate as_next_count(Estimate counted, double nominal_bytes);

}  // namespace gputopo::evidence
