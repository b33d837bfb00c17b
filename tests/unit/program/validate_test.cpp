#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/program.hpp"

namespace gputopo::program {
namespace {

using ::testing::HasSubstr;

Program one_walk(const Walk& walk) {
  Program p;
  p.label = "probe";
  p.buffers = {{Space::global, 4096, 0}, {Space::constant, 4096, 0}, {Space::shared, 4096, 0}};
  p.phases = {walk};
  return p;
}

Walk good() {
  Walk w;
  w.footprint_bytes = 4096;
  w.stride_bytes = 128;
  w.record = Record::latencies;
  return w;
}

std::string refusal_of_program(const Program& p) {
  const auto ok = validate(p);
  return ok ? "accepted" : ok.error().message;
}

TEST(Validate, AcceptsAWalkThatStaysInItsBuffer) {
  EXPECT_TRUE(validate(one_walk(good())));
}

TEST(Validate, NamesTheProgramAndThePhase) {
  Program p = one_walk(good());
  std::get<Walk>(p.phases[0]).agent = 9;
  EXPECT_THAT(refusal_of_program(p), HasSubstr("program 'probe', phase 0"));
}

TEST(Validate, TakesWalksOverCodeByOneLaneThatArentTimedAsAWhole) {
  Program p = one_walk(good());
  p.buffers[0].space = Space::code;
  Walk& walk = std::get<Walk>(p.phases[0]);
  EXPECT_THAT(refusal_of_program(p), HasSubstr("path doesn't fit"));
  walk.path = Path::instruction;
  EXPECT_TRUE(validate(p));
  walk.record = Record::lap_time;
  EXPECT_THAT(refusal_of_program(p), HasSubstr("laps timed as a whole"));
  walk.record = Record::nothing;
  walk.lanes = 32;
  EXPECT_THAT(refusal_of_program(p), HasSubstr("several lanes"));
}

TEST(Validate, HoldsCodeForTheSameAgentsLook) {
  Walk fill = good();
  fill.path = Path::instruction;
  fill.laps = 1;
  fill.record = Record::nothing;
  Walk between = fill, look = fill;
  fill.holds = true;
  between.agent = 1;
  look.record = Record::histogram;
  Program p = one_walk(fill);
  p.buffers[0].space = Space::code;
  p.agents = {{0, 0}, {0, 4}};
  p.phases = {fill, between, look};
  EXPECT_EQ(refusal_of_program(p), "accepted");
  const auto refused = [&](auto change, const char* why) {
    Program changed = p;
    change(changed);
    EXPECT_THAT(refusal_of_program(changed), HasSubstr(why));
  };
  const auto walk = [](Program& of, std::size_t phase) -> Walk& { return std::get<Walk>(of.phases[phase]); };
  refused([](Program& of) { of.phases.pop_back(); }, "for other than walks over code");
  refused([](Program& of) { of.phases[1] = Execute{0, 1024, 1, false}; }, "for other than walks over code");
  refused([&](Program& of) { walk(of, 1).holds = true; }, "for other than walks over code");
  refused([&](Program& of) { walk(of, 2).agent = 1; }, "for other than walks over code");
  refused([&](Program& of) { walk(of, 1).record = Record::histogram; }, "for other than walks over code");
  refused([](Program& of) { of.phases.insert(of.phases.begin() + 1, of.phases[1]); }, "several walks on its SM");
  refused([&](Program& of) { walk(of, 0).laps = 2; }, "more than one lap");
  refused([&](Program& of) { walk(of, 2).laps = 2; }, "more than one lap");
  refused([&](Program& of) { walk(of, 2).record = Record::latencies; }, "more than one lap");
  // Others may be on any number of other SMs.
  p.agents[1].sm = 1;
  p.phases = {fill, between, between, look};
  EXPECT_EQ(refusal_of_program(p), "accepted");
}

TEST(Validate, TakesStoresThatNobodyTimes) {
  Walk walk = good();
  walk.path = Path::global_store;
  for (const Record record : {Record::lap_time, Record::lap_times, Record::histogram, Record::latencies}) {
    walk.record = record;
    EXPECT_THAT(refusal_of_program(one_walk(walk)), HasSubstr("records stores"));
  }
  walk.record = Record::nothing;
  EXPECT_TRUE(validate(one_walk(walk)));
  EXPECT_EQ(to_string(walk.path), "global_store");
  walk.lanes = 32;
  EXPECT_THAT(refusal_of_program(one_walk(walk)), HasSubstr("several lanes"));
  walk.lanes = 1;
  walk.buffer = 1;
  EXPECT_THAT(refusal_of_program(one_walk(walk)), HasSubstr("path doesn't fit"));
}

TEST(Validate, RefusesWhatIsOutOfRange) {
  const auto refused = [](auto change, const char* why) {
    Walk w = good();
    change(w);
    EXPECT_THAT(refusal_of_program(one_walk(w)), HasSubstr(why));
  };
  refused([](Walk& w) { w.agent = 1; }, "an agent that isn't there");
  refused([](Walk& w) { w.buffer = 3; }, "a buffer that isn't there");
  refused([](Walk& w) { w.buffer = 1; }, "path doesn't fit");
  refused([](Walk& w) { w.path = Path::shared; }, "path doesn't fit");
  refused([](Walk& w) { w.stride_bytes = 0; }, "multiple of 4");
  refused([](Walk& w) { w.stride_bytes = 6; }, "multiple of 4");
  refused([](Walk& w) { w.first_byte = 2; }, "aligned");
  refused([](Walk& w) { w.footprint_bytes = 4100; }, "outside its buffer");
  refused([](Walk& w) { w.first_byte = 4; }, "outside its buffer");
  refused([](Walk& w) { w.first_byte = ~std::uint64_t{3}; }, "outside its buffer");
  refused([](Walk& w) { w.footprint_bytes = 0; }, "outside its buffer");
  refused([](Walk& w) { w.laps = 0; }, "no laps");
  refused([](Walk& w) { w.lanes = 0; }, "no lanes");
  refused([](Walk& w) { w.lanes = 32; }, "several lanes");
  refused([](Walk& w) { w.order = Order::skipping, w.order_seed = 4; }, "shares a factor");
  refused([](Walk& w) { w.lead_loads = 8; }, "leaves out loads");
  refused([](Walk& w) { w.record = Record::histogram, w.lead_loads = 8, w.laps = 2; }, "leaves out loads");
  refused([](Walk& w) { w.record = Record::histogram, w.lead_loads = 32; }, "leaves out loads");
  refused([](Walk& w) { w.record = Record::histogram, w.tail_step = 1; }, "ends in loads");
  refused([](Walk& w) { w.record = Record::histogram, w.lead_loads = 8, w.tail_step = 1, w.tail_first = 32; },
          "ends in loads");
  refused([](Walk& w) { w.record = Record::histogram, w.lead_loads = 8, w.path = Path::global_l2_only; }, "no leads");
}

TEST(Validate, AWalkMayGoRoundAndRoundInOneLap) {
  Walk w = good();
  w.laps = 1;
  w.loads_per_lap = 100;
  w.record = Record::histogram;
  w.lead_loads = 96;
  w.tail_first = 31;
  w.tail_step = 31;
  EXPECT_EQ(refusal_of_program(one_walk(w)), "accepted");
}

TEST(Validate, RefusesEmptyCodeMissingAgentsAndImpossibleCarveOuts) {
  Program p = one_walk(good());
  p.phases.push_back(Execute{0, 0, 1, false});
  EXPECT_THAT(refusal_of_program(p), HasSubstr("phase 1: executes nothing"));
  p = one_walk(good());
  p.agents.clear();
  EXPECT_THAT(refusal_of_program(p), HasSubstr("has no agent"));
  p = one_walk(good());
  p.carve_out_percent = 101;
  EXPECT_THAT(refusal_of_program(p), HasSubstr("above 100 percent"));
}

TEST(Validate, PositionsCountWholeStrides) {
  Walk w = good();
  EXPECT_EQ(positions(w), 32U);
  EXPECT_EQ(lap_loads(w), 32U);
  w.footprint_bytes = 100;
  EXPECT_EQ(positions(w), 1U);
  w.footprint_bytes = 4096;
  w.loads_per_lap = 5;
  EXPECT_EQ(lap_loads(w), 5U);
}

TEST(TexturePart, IsTheFirstWhereSomethingIsRecordedAndAnyWhereNothingIs) {
  constexpr std::uint64_t elements = 1024;  // of 4 bytes
  Walk w = good();
  w.path = Path::texture;
  EXPECT_EQ(texture_part(w, elements), 0U);
  w.first_byte = 3 * 4096;
  EXPECT_FALSE(texture_part(w, elements)) << "recorded";
  w.record = Record::nothing;
  EXPECT_EQ(texture_part(w, elements), 3U);
  w.first_byte += 124;
  EXPECT_EQ(texture_part(w, elements), 3U) << "the last load is of the part's last word";
  w.first_byte += 4;
  EXPECT_FALSE(texture_part(w, elements)) << "its last load lies in the next part";
  w.first_byte -= 4;
  w.lanes = 32;
  EXPECT_FALSE(texture_part(w, elements)) << "several lanes";
  EXPECT_FALSE(texture_part(good(), 0));
}

}  // namespace
}  // namespace gputopo::program
