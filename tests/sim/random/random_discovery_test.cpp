// Discoveries of random models of docs/domain.md: what is said is right. Eight seeds in a row, not chosen, and a few
// that were wrong; the suite that draws more of them is random_models.
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "tests/sim/random/random_model.hpp"
#include "tests/sim/random/tally.hpp"

namespace gputopo::test {
namespace {

struct Judged {
  Tally tally;
  std::string complaints;
};

Judged judged(std::uint64_t seed) {
  const auto json = random_model(seed);
  auto model = sim::parse_model(json.dump(), json["name"].get<std::string>());
  EXPECT_TRUE(model) << model.error().message;
  if (!model) return {};
  Topology truth = sim::truth(*model);
  sim::add_latency_spans(*model, truth);
  const auto device = sim::make_device(std::move(*model));
  const auto found = experiments::discover(*device, {});
  EXPECT_TRUE(found) << found.error().message;
  if (!found) return {};
  const auto all = statements(*found, truth, Exactness::to_the_line);
  Judged result;
  result.tally.add(all);
  result.complaints = complaints(all);
  return result;
}

class RandomDiscovery : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomDiscovery, SaysNothingWrong) {
  const Judged found = judged(GetParam());
  EXPECT_EQ(found.tally.wrong, 0U) << found.complaints;
  EXPECT_GT(found.tally.said, found.tally.statements / 3) << "nearly everything was left open\n" << found.complaints;
}

// Beside other programs that empty an L1 between two loads most is left open.
class MendedRandomDiscovery : public testing::TestWithParam<std::uint64_t> {};

TEST_P(MendedRandomDiscovery, SaysNothingWrongAnyMore) {
  const Judged found = judged(GetParam());
  EXPECT_EQ(found.tally.wrong, 0U) << found.complaints;
  EXPECT_GT(found.tally.said, 0U) << found.complaints;
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomDiscovery, testing::Range<std::uint64_t>(41, 49));

// Found wrong once: an L2 whose overfull sets lay between all that was looked at, an L1 that another program empties
// between two loads, an L2 of unknown sectors that was searched without end, places of an L1 that lose lines, a sample
// of an L2 that holds less than fits, stretches that all lie in the same few sets, far hits of lines that an L2 had
// kept taken for loads of memory, caches of few lines that another program fills from the side, a cache of one set, in
// which all that a line's pattern walks collides, caches whose size no second opinion confirmed, lines that look like
// hits whenever they miss, sides told by lines that were lost, an L2 of which each program looked at the lines that it
// had brought in before, caches whose looks were in step with their replacement, or at neighbours that push one another
// out, constants that an L2 lost to others that were to push them out of a cache in front of it, misses of nearer
// slices than any that was known, repeated loads that another program mostly made miss, and lines that SMs lost by
// themselves while others looked. And a footprint that left sets room, two lines of one set, of which the look at one
// pushed out the other, halves of what seemed one line, of constants in several banks, far lines of an L2 whose sides
// nothing told, lines looked for together that were walked at other times, or that pushed the newest ones out,
// constants that lay farther away than those that an L1 had lost, laps none of which was without a lost line, four
// sides, misses that are shorter than hits, constants of which a few lines alone outlast what another program brings,
// lines in a row, of rows of DRAM that are open, that take as long as hits that another program makes wait, and an L2
// of few ways that loses all constants to what pushes them out of a cache in front.
INSTANTIATE_TEST_SUITE_P(Seeds, MendedRandomDiscovery,
                         testing::Values(700098, 520077, 180000, 620004, 620081, 520041, 572037, 563060, 570071, 590089,
                                         980005, 1080027, 1110036, 1120065, 1130014, 1130093, 1190068, 1200025,
                                         9400014, 9970029));

// The same of models that take longer, and of levels behind an L2 beside memory or a TLB's misses, caches that are full
// when a program begins, slices nearer to other SMs than to the one whose levels are known, a level behind that is as
// near as hits are to a slower SM, and an L1 whose lines another program pushes out before they are loaded again.
INSTANTIATE_TEST_SUITE_P(Slow, MendedRandomDiscovery,
                         testing::Values(700068, 600017, 590043, 572032, 571113, 180023, 190005, 190106, 320105, 410278,
                                         480004, 500009, 510057, 520096, 520040, 700042, 890037, 910031, 920006, 920015,
                                         980012, 1080022, 1090056, 1130062, 1160004, 1500047, 3500013, 3600003, 1000027,
                                         1210043, 2800026, 3000115, 3000116, 9910039));

}  // namespace
}  // namespace gputopo::test
