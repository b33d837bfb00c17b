// Rows of a sweep: walks of one footprint, warm laps and then recorded ones.
#pragma once

#include "evidence/inference/histogram.hpp"
#include "evidence/looks/search.hpp"
#include "evidence/looks/session.hpp"

namespace gputopo::evidence {

struct FootprintSpec {
  CachePath path;
  std::uint64_t stride_bytes = 32;  ///< at most a line, so that every line of a footprint is loaded
  Scope isolation = Scope::sm;
  std::uint32_t warm_laps = 3;         ///< by all lanes at once where that is faster (global memory)
  std::uint64_t most_loads = 0;        ///< of a recorded lap, spread over the footprint; 0: all
  std::uint32_t timed_laps = 1;        ///< at least; small footprints get more, for equal evidence
  std::uint64_t front_line_bytes = 0;  ///< line of a smaller cache in front, which must not answer; 0: none
  double front_threshold_cycles = 0;   ///< loads that it answers all the same aren't counted
  std::uint64_t bank_bytes = 0;        ///< a footprint goes on in the next module's constant bank; 0: one buffer
  Histogram* walked = nullptr;         ///< where all that is timed is added up; null: nowhere
};

/// Pieces of a line that a cache in front asks for by themselves, one where nothing lies in front: rounds go to each of
/// them in turn.
std::uint64_t turns_of_line(std::uint64_t line_bytes, std::uint64_t front_line_bytes);

/// Walks of one footprint. Banks are filled one after the other, to the end: parts of equal length would crowd the sets
/// that all of them begin in. Behind a smaller cache each lap loads every line once, by another line of the one in
/// front in turn, so that one has nothing of it any more when it comes again.
program::Program footprint_program(const device::DeviceInfo& info, const FootprintSpec& spec, std::uint64_t bytes);

/// All laps as rounds of one: what the kernel reads for itself between laps comes before the first round, has been
/// pushed out by the cache's steady state, and takes no part of it. Where a cache lies in front, every round looks at
/// another of its lines in each line of this one, so that it holds none of them: steps of as many front lines over all
/// but the last of them.
program::Walk rounds_of(const FootprintSpec& spec, std::uint64_t bytes, std::uint32_t timed_laps);

/// All that a program recorded.
Histogram recorded_histogram(const program::ProgramTrace& trace);

/// Counts misses of footprints for search_capacity(). `session` and `spec.walked` must outlive it.
CountRows count_footprints(Session& session, FootprintSpec spec, double threshold_cycles);

}  // namespace gputopo::evidence
