#include "device/cuda/interruptions.hpp"

#include <algorithm>

namespace gputopo::device::cuda {
namespace {

using kernels::Gap;

// The timer moves on in steps of up to 1.024 us, so that a program's two readings of it are off by 2 us at most: 2 % of
// this. Anything shorter says too little about the clock.
constexpr std::uint64_t shortest_clock_span_ns = 100'000;

// Those that overlap (begin, end), in order of time.
std::vector<Gap> gaps_within(std::uint64_t begin, std::uint64_t end, const std::vector<Gap>& gaps) {
  std::vector<Gap> inside;
  for (const Gap& gap : gaps)
    if (gap.begin_ns < end && gap.end_ns > begin) inside.push_back(gap);
  std::sort(inside.begin(), inside.end(), [](const Gap& a, const Gap& b) { return a.begin_ns < b.begin_ns; });
  return inside;
}

// One block's clock over its own time; gaps are left out of both.
double clock_over(const Stint& stint, const std::vector<Gap>& gaps) {
  std::uint64_t ns = stint.end_ns - stint.begin_ns;
  std::uint64_t cycles = stint.end_clock - stint.begin_clock;
  std::uint64_t taken_off_until = stint.begin_ns;  // two modules' blocks on one SM both list a gap
  for (const Gap& gap : gaps) {
    if (gap.sm != stint.sm || gap.begin_ns < taken_off_until || gap.end_ns > stint.end_ns) continue;
    ns -= gap.end_ns - gap.begin_ns;
    cycles -= std::min(cycles, gap.cycles);
    taken_off_until = gap.end_ns;
  }
  return ns < shortest_clock_span_ns ? 0 : static_cast<double>(cycles) / static_cast<double>(ns);
}

}  // namespace

program::Interruptions interruptions_of(const std::vector<Stint>& stints, const std::vector<Gap>& gaps) {
  program::Interruptions seen;
  if (stints.empty()) return seen;
  std::uint64_t begin = stints.front().begin_ns;
  std::uint64_t end = stints.front().end_ns;
  for (const Stint& stint : stints) {
    begin = std::min(begin, stint.begin_ns);
    end = std::max(end, stint.end_ns);
  }
  const std::vector<Gap> inside = gaps_within(begin, end, gaps);
  std::uint64_t away_until = 0;
  for (const Gap& gap : inside) {
    if (gap.begin_ns >= away_until) ++seen.switches;
    const std::uint64_t from = std::max(gap.begin_ns, away_until);
    if (gap.end_ns > from) seen.away_ns += gap.end_ns - from;
    away_until = std::max(away_until, gap.end_ns);
  }
  const auto longest = std::max_element(stints.begin(), stints.end(), [](const Stint& a, const Stint& b) {
    return a.end_ns - a.begin_ns < b.end_ns - b.begin_ns;
  });
  seen.cycles_per_ns = clock_over(*longest, inside);
  return seen;
}

}  // namespace gputopo::device::cuda
