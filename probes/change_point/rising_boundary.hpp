// The boundary between loads of rows before a rise and those of rows behind it, wherever levels overlap.
#pragma once

#include <optional>
#include <span>

#include "change_point/mixture.hpp"
#include "change_point/trace.hpp"

namespace gputopo::change_point {

struct RisingBoundary {
  Boundary boundary;
  std::size_t first_after = 0;  ///< the first row behind the rise
};

/// Rows are split where their means differ most (Split's L2; the slowest loads count as no slower than all but one in
/// two hundred), and the boundary is that which the shares of loads on either side of it differ most by (Youden, Cancer
/// 3, 1950); of those that differ by chance from it, that with the widest gap. `step` is by how much the means differ,
/// over that difference of shares: what levels are apart, of which rows are mixtures. Nothing where rows are too few or
/// don't rise. `bins` are those of all loads. Time grows with the loads.
std::optional<RisingBoundary> rising_boundary(const Trace& trace, std::span<const Bin> bins);

}  // namespace gputopo::change_point
