// The levels of caches that serve instructions: what a jump to a block of code takes, over how much code is walked.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "evidence/looks/findings.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

/// Of so many blocks in a row, how many jumps a round found theirs lost, less what strangers hide.
struct MissedInARow {
  double blocks = 0, missed = 0;
  double error = 0;  ///< of `missed`, three standard deviations of strangers
};

/// One cache on the path of instructions, the nearest first.
struct CodeLevel {
  Levels levels;                               ///< its hits against what lies behind, jumps as timed
  double front_threshold_cycles = 0;           ///< what is faster was served by the cache before; 0: there is none
  double hit_cycles = 0;                       ///< of a jump, as timed
  double lost_cycles = 0;                      ///< of a jump to what it lost
  double error_cycles = 0;                     ///< of either, half a clock tick at least
  std::uint64_t from_bytes = 0, to_bytes = 0;  ///< code walked, between which it served nearly all that was lost before
  std::uint64_t lost_from_bytes = 0;           ///< code from which on it lost nearly all
  std::uint64_t held_bytes = 0;                ///< held at least, by how few of some code's jumps miss
  /// Jumps to blocks in a row, each once, of less code and of more, both too much for it. Where these differ it still
  /// held some.
  MissedInARow of_less, of_more;
  /// Jumps that it serves take longer the more code is walked, by more than chance: another cache may lie in it, nearer
  /// than levels are told apart.
  bool may_be_two = false;
  std::uint64_t samples = 0;
  Series missed;   ///< share of jumps that found their block lost from here, over code walked, bytes
  Series slowest;  ///< what nearly the slowest jumps take, over all code walked: of all levels alike
};

/// Walks downwards over ever more code, which no prefetch runs ahead of, and tells levels apart by what most of the
/// slowest jumps take. All but the last level that is seen have something behind them: that one isn't among what comes
/// back. Errors are the session's.
Expected<std::vector<CodeLevel>> find_code_levels(Session& session);

/// Memories that such levels are called, the nearest first.
inline constexpr std::array<std::string_view, 4> code_level_names{"instruction_l0", "instruction_l1",
                                                                  "instruction_l1_5", "instruction_l2"};

/// Which of these by their place, where `count` of them were found: the last before an L2 is the
/// L1.5, the second last the L1, one before these the L0; without an L2, as on GT200, one behind the L1.5 is the
/// instructions' own. Not more than there are names.
std::vector<std::string_view> names_of_code_levels(std::size_t count, bool has_l2);

/// A walk over code's row of a sweep: warm rounds, and then recorded ones.
program::Program code_program(const device::DeviceInfo& info, std::uint64_t bytes, std::uint64_t stride_bytes);

}  // namespace gputopo::evidence
