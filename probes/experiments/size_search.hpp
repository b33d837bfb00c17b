// Where does a cache overflow? The efficient search of the thesis (doubling, then narrowing; Größler 2022,
// section 3.2), with both speed-ups it sketches: one load a line (4.7.1) and one footprint an SM, all in one launch
// (4.7.2).
#pragma once

#include "change_point/finding.hpp"
#include "experiments/session.hpp"

namespace gputopo::experiments {

struct SearchSpec {
  CachePath path;
  std::uint64_t stride_bytes = 32;      ///< at most a line, so that every line of a footprint is loaded
  std::uint64_t first_bytes = 512;      ///< the smallest footprint tried
  std::uint64_t limit_bytes = 1 << 20;  ///< the largest
  double threshold_cycles = 0;          ///< a load that takes this long missed
  Scope isolation = Scope::sm;
  std::uint32_t warm_laps = 3;         ///< the last of them finds the steady state of LRU and of random replacement
  std::uint64_t front_line_bytes = 0;  ///< line of a smaller cache in front, which must not answer; 0: none
  std::uint32_t timed_laps = 1;        ///< at least; small footprints get more, for equal evidence
  std::uint64_t bank_bytes = 0;        ///< a footprint goes on in the next module's constant bank; 0: one buffer
  std::uint64_t coarse_rows = 48;      ///< of a sweep that narrows a bracket
  std::size_t final_replicates = 4;    ///< of each row of the last sweep
};

/// Powers of two between which the cache overflows. `overflows_bytes` is 0 where even the limit fits.
struct Bracket {
  std::uint64_t fits_bytes = 0;  ///< 0 where even the first footprint misses
  std::uint64_t overflows_bytes = 0;
};

/// Doubles the footprint until it misses.
Expected<Bracket> search_by_doubling(Session& session, const SearchSpec& spec);

/// Warm laps and one recorded histogram for every footprint from `low` to `high`, a row each. Of several `replicates`
/// of a row the one with the fewest misses counts: disturbances only ever add misses, a full cache misses every time.
Expected<change_point::Trace> sweep(Session& session, const SearchSpec& spec, std::uint64_t low_bytes,
                                    std::uint64_t high_bytes, std::uint64_t step_bytes, std::size_t replicates = 1);

/// Walks of one footprint: warm laps, then recorded ones.
program::Program footprint_program(const Session& session, const SearchSpec& spec, std::uint64_t bytes);

/// Recorded loads of one footprint that missed.
Expected<std::uint64_t> count_misses(Session& session, const SearchSpec& spec, std::uint64_t bytes);

/// Narrows a bracket down to steps of `resolution_bytes` by sweeps that the change-point engine reads.
Expected<change_point::Finding> narrow(Session& session, const SearchSpec& spec, const Bracket& bracket,
                                       std::uint64_t resolution_bytes);

/// A cache of n lines that replaces them at random, and still holds what others left there, lets go of it ever more
/// slowly: of a footprint that just fits, about n / t lines still miss after t laps (the missing ones, m, displace each
/// other with probability 1 - m / n: dm / dt = -m^2 / n), and the cache seems smaller. So: `found`, or where the next
/// footprint fits as well after far more laps, what a sweep with so many laps finds.
Expected<change_point::Finding> settled(Session& session, const SearchSpec& spec, const change_point::Finding& found);

/// The kernel's own constants and code take lines of a cache that they share with what is walked, which looks like an
/// onset before the capacity. But a cache of c lines misses at least f - c times in each lap of f lines, whatever it
/// replaces, and where it replaces by age or at random two misses or more follow each line too many; one for each line
/// is the kernel's. `found`, or what is found past such an onset; `lower_bound` where the limit comes first.
Expected<change_point::Finding> without_own_lines(Session& session, const SearchSpec& spec,
                                                  const change_point::Finding& found);

}  // namespace gputopo::experiments
