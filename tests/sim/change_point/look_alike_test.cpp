// Sweeps as other people's GPUs and tools record them: the size, the right kind of bound, or 'inconclusive'.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "evidence/traces/traces.hpp"
#include "look_alikes.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

using change_point::testing::LookAlike;
using change_point::testing::Recorded;

enum class Outcome { exact, covered, bound, inconclusive, doubtful, wrong };

// A finding that claims little is doubtful rather than wrong.
constexpr double little_confidence = 0.5;

Outcome judge(const Estimate& finding, const Recorded& recorded) {
  const auto& truth = recorded.truth;
  const double upper = std::max(truth.fits, truth.last_clean);
  const Outcome otherwise = finding.confidence.value_or(0) < little_confidence ? Outcome::doubtful : Outcome::wrong;
  switch (finding.status) {
    case Status::inconclusive:
      return Outcome::inconclusive;
    case Status::lower_bound:
      return !truth.overflows || upper >= *finding.value ? Outcome::bound : otherwise;
    case Status::upper_bound:
      return !truth.fits_at_all || *finding.value >= upper ? Outcome::bound : otherwise;
    default:
      break;
  }
  const bool within = truth.overflows && upper > 0;
  if (within && *finding.value >= truth.fits && *finding.value <= upper) {
    return Outcome::exact;
  }
  return within && finding.interval->low <= upper && finding.interval->high >= truth.fits ? Outcome::covered
                                                                                          : otherwise;
}

struct Outcomes {
  int traces = 0;
  std::array<int, 6> of{};
  int operator[](Outcome outcome) const { return of[static_cast<std::size_t>(outcome)]; }
};

// Nothing but a cache whose capacity lies well within the sweep, and ordinary noise.
bool is_clean(const LookAlike& kind) {
  constexpr std::array names = {"AMD vector L1", "AMD scalar L1", "NVIDIA L1",   "constant L1",
                                "L2, averaged",  "L2, once",      "L2, then L3", "drift"};
  return std::find(names.begin(), names.end(), kind.kind) != names.end();
}

Outcomes tally(const LookAlike& kind, std::uint64_t seeds) {
  Outcomes result;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    change_point::testing::SweepModel model = kind.draw(seed);
    model.kind = kind.kind;
    model.seed = seed;
    const Recorded recorded = record(model);
    if (!recorded.truth.misses_vary && !recorded.truth.fits_at_all) {
      continue;  // every load misses at every size: the same trace as one of hits that are slow
    }
    const Estimate finding = find_size(recorded.trace, {});
    const Outcome outcome = judge(finding, recorded);
    ++result.traces;
    ++result.of[static_cast<std::size_t>(outcome)];
    if (outcome == Outcome::wrong) {
      const Interval said = finding.interval.value_or(Interval{*finding.value, *finding.value});
      std::printf("%s\n  %s, %.0f [%.0f, %.0f], confidence %.2f; true is %.0f to %.0f\n", model.describe().c_str(),
                  std::string(to_string(finding.status)).c_str(), *finding.value, said.low, said.high,
                  *finding.confidence, recorded.truth.fits, recorded.truth.last_clean);
    }
  }
  return result;
}

TEST(LookAlikes, SizesAreExactOrHonest) {
  constexpr std::uint64_t seeds = 50;
  std::printf("| %-16s | traces | exact | covered | bound | inconclusive | doubtful | wrong |\n", "kind");
  int traces = 0;
  int wrong = 0;
  for (const LookAlike& kind : change_point::testing::look_alikes()) {
    const Outcomes of = tally(kind, seeds);
    std::printf("| %-16s | %6d | %5d | %7d | %5d | %12d | %8d | %5d |\n", kind.kind.c_str(), of.traces,
                of[Outcome::exact], of[Outcome::covered], of[Outcome::bound], of[Outcome::inconclusive],
                of[Outcome::doubtful], of[Outcome::wrong]);
    traces += of.traces;
    wrong += of[Outcome::wrong];
    EXPECT_GT(of.traces, 0) << kind.kind;
    EXPECT_LE(of[Outcome::wrong] + of[Outcome::doubtful], 0.05 * of.traces) << kind.kind;
    if (is_clean(kind)) {
      EXPECT_GE(of[Outcome::exact], 0.88 * of.traces) << kind.kind;
    }
  }
  EXPECT_LE(wrong, 0.01 * traces);
}

}  // namespace
}  // namespace gputopo::evidence
