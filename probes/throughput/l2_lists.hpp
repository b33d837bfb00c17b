// Lines of a two-sided L2 by their homes: which ones each SM walks, and how fast all SMs stream them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "throughput/benchmarks.hpp"
#include "throughput/l2_homes.hpp"

namespace gputopo::throughput {

/// Lines whose home is an SM's own side, the other one, or any.
enum class Whose { near, far, any };
inline constexpr std::array<std::pair<Whose, const char*>, 3> line_kinds{
    {{Whose::near, "near"}, {Whose::far, "far"}, {Whose::any, "any"}}};

inline constexpr std::uint32_t list_threads = 1024;  ///< of an SM that streams its lines
/// Shared memory that a block keeps its list in, of four bytes a line; no second block has room beside it.
inline constexpr std::uint64_t room_of_list = std::uint64_t{120} << 10U;

/// Input of the kernels that walk lists: each SM's own lines, of as many as make `bytes` together; nothing where there
/// aren't so many of that kind, or an SM's list has no room.
std::vector<std::uint32_t> lists_of(const Homes& homes, Whose whose, std::uint64_t bytes);

/// Streams of one kind of lines over ever more bytes, to nearly all of the L2.
struct ListRates {
  Sample best;                ///< B/s, at the footprint that is fastest
  double best_megabytes = 0;  ///< that footprint, MiB
  std::vector<Point> points;  ///< GB/s over MiB
  ByBytes by_bytes;           ///< B/s over bytes
};

/// Nothing where there are no such lines. `buffer_bytes` is that of find_homes. Errors: Device::run_workload's.
Expected<std::optional<ListRates>> stream_lists(const Setting& setting, const Homes& homes,
                                                const std::pair<Whose, const char*>& kind, bool writes,
                                                std::uint64_t buffer_bytes);

}  // namespace gputopo::throughput
