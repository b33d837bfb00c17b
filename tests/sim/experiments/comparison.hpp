// A discovered topology against the truth of the model it was discovered on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.hpp"

namespace gputopo::test {

enum class Verdict {
  exact,             ///< the truth itself; latencies to 0.05 cycles
  within_interval,   ///< the truth lies within the stated interval
  within_tolerance,  ///< of what Exactness allows
  bound_holds,       ///< a bound, and the truth lies on the right side of it
  inconclusive,      ///< left open
  wrong,             ///< stated as fact, and false
};

std::string_view to_string(Verdict verdict);

/// What is true of one attribute, and what was found.
struct Statement {
  std::string memory;     ///< a Memory id, or "GPU"
  std::string attribute;  ///< as in the Topology; also "physical_cache", "shared_by", "carve_outs", ...
  std::string truth;      ///< for readers, with its unit
  std::string found;
  Verdict verdict = Verdict::wrong;
  bool decidable = true;  ///< false where a discovery may leave it open: nothing that it can run would tell
  std::string how;        ///< status, method and note of what was found
  std::optional<double> confidence = std::nullopt;  ///< that was stated with it
  std::optional<bool> in_interval =
      std::nullopt;  ///< of a measured value with an interval: whether the truth lies in it
};

enum class Exactness {
  to_the_byte,
  /// Sizes may be a line off, or within their own 95 % interval if that is within 5 %; latencies may be any of those
  /// that the model's distances, clocks and TLBs give the level.
  to_the_line,
};

/// One a statement of `truth`, in its order, and one for each partition of the L2 that was found but isn't there.
/// Sizes, lines and sectors are held to the byte (sizes swept in the L2 to 6 %, of odd models to 10 %, or their
/// interval), latencies and penalties to 1.5 cycles or 3 %, the greater; who shares a cache, its instances, parent,
/// carve-outs and where SMs sit have to agree. Bounds have to hold: of sizes to the byte, whatever `exactness` says, of
/// latencies for one of those.
std::vector<Statement> statements(const Topology& found, const Topology& truth, Exactness exactness);

/// One line for each statement that is wrong, or open although it is decidable; empty where all is well.
std::string complaints(const std::vector<Statement>& statements);

bool is_wrong(const Statement& statement);
/// Left open, or only bounded, where it could have been decided.
bool is_undecided(const Statement& statement);

/// Relative tolerance of a size for `--method thesis`, whose last sweep has steps of the line but no residency.
bool within(double found, double truth, double relative);

}  // namespace gputopo::test
