// The comparison that all tests on simulated GPUs rest on: planted errors are found, and nothing else is.
#include "comparison.hpp"

#include <functional>
#include <string>

#include <gmock/gmock.h>

#include "device/sim/model.hpp"
#include "results_table.hpp"

namespace gputopo::test {
namespace {

// A flawless discovery of the built-in H200.
Topology flawless(const Topology& truth) {
  Topology found = truth;
  for (Memory& m : found.memories) {
    for (auto& [name, e] : m.attributes) {
      if (e.value) e.status = Status::measured;
      e.interval.reset();
    }
    if (m.id == "l2") m.attributes["measured_size"] = m.attributes["size"];
  }
  return found;
}

class ComparisonTest : public testing::Test {
 protected:
  // What a discovery with that one error is told, "memory.attribute: verdict", all that isn't exact.
  std::vector<std::string> told(const std::function<void(Topology&)>& plant,
                                Exactness exactness = Exactness::to_the_byte) const {
    Topology found = flawless(truth_);
    plant(found);
    std::vector<std::string> list;
    for (const Statement& s : statements(found, truth_, exactness))
      if (s.verdict != Verdict::exact)
        list.push_back(s.memory + "." + s.attribute + ": " + std::string(to_string(s.verdict)));
    return list;
  }

  static Estimate& estimate(Topology& t, const char* id, const char* name) { return t.find(id)->attributes[name]; }

  const Topology truth_ = sim::truth(*sim::builtin_model("h200"));
};

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(ComparisonTest, FindsNothingWhereNothingIsWrong) {
  EXPECT_THAT(told([](Topology&) {}), IsEmpty());
}

TEST_F(ComparisonTest, HoldsSizesToTheByte) {
  EXPECT_THAT(told([](Topology& t) { *estimate(t, "l1", "size").value += 1; }), ElementsAre("l1.size: wrong"));
  EXPECT_THAT(told([](Topology& t) { *estimate(t, "l1", "line_size").value *= 2; }),
              ElementsAre("l1.line_size: wrong"));
}

TEST_F(ComparisonTest, AllowsALineToOddModels) {
  const auto off_by = [&](double bytes) {
    return told([=](Topology& t) { *estimate(t, "l1", "size").value += bytes; }, Exactness::to_the_line);
  };
  EXPECT_THAT(off_by(128), ElementsAre("l1.size: within tolerance"));
  EXPECT_THAT(off_by(129), ElementsAre("l1.size: wrong"));
}

TEST_F(ComparisonTest, HoldsLatenciesToACycleAndAHalfOrThreePercent) {
  const auto off_by = [&](const char* id, double cycles) {
    return told([=](Topology& t) { *estimate(t, id, "latency").value += cycles; });
  };
  EXPECT_THAT(off_by("l1", 0.04), IsEmpty());
  EXPECT_THAT(off_by("l1", 1.5), ElementsAre("l1.latency: within tolerance"));
  EXPECT_THAT(off_by("l1", 1.6), ElementsAre("l1.latency: wrong"));
  EXPECT_THAT(off_by("l2", 8.4), ElementsAre("l2.latency: within tolerance"));
  EXPECT_THAT(off_by("l2", -8.5), ElementsAre("l2.latency: wrong"));
}

TEST_F(ComparisonTest, MindsTheIntervalOfALatencyThatIsCloseOnly) {
  const auto stated = [&](double value) {
    return told([=](Topology& t) {
      estimate(t, "l2", "latency").value = value;
      estimate(t, "l2", "latency").interval = Interval{100, 1000};
    });
  };
  EXPECT_THAT(stated(281), ElementsAre("l2.latency: within interval"));
  EXPECT_THAT(stated(400), ElementsAre("l2.latency: wrong"));
}

TEST_F(ComparisonTest, HoldsBoundsToTheirSide) {
  const auto bounded = [&](Status status, double bytes) {
    return told([=](Topology& t) {
      estimate(t, "constant_l1_5", "size").status = status;
      estimate(t, "constant_l1_5", "size").value = bytes;
    });
  };
  EXPECT_THAT(bounded(Status::lower_bound, 65536), ElementsAre("constant_l1_5.size: bound holds"));
  EXPECT_THAT(bounded(Status::lower_bound, 131073), ElementsAre("constant_l1_5.size: wrong"));
  EXPECT_THAT(bounded(Status::upper_bound, 131072), ElementsAre("constant_l1_5.size: bound holds"));
  EXPECT_THAT(bounded(Status::upper_bound, 65536), ElementsAre("constant_l1_5.size: wrong"));
}

TEST_F(ComparisonTest, HoldsBoundsOfAMeasuredL2ToTheirSide) {
  const auto bounded = [&](Status status, double share) {
    return told([=](Topology& t) {
      estimate(t, "l2", "measured_size").status = status;
      *estimate(t, "l2", "measured_size").value *= share;
    });
  };
  EXPECT_THAT(bounded(Status::lower_bound, 0.9), ElementsAre("l2.measured_size: inconclusive"));
  EXPECT_THAT(bounded(Status::lower_bound, 1.1), ElementsAre("l2.measured_size: wrong"));
  EXPECT_THAT(bounded(Status::upper_bound, 1.1), ElementsAre("l2.measured_size: inconclusive"));
  EXPECT_THAT(bounded(Status::upper_bound, 0.9), ElementsAre("l2.measured_size: wrong"));
}

TEST_F(ComparisonTest, TellsTheOpenFromTheWrong) {
  EXPECT_THAT(told([](Topology& t) { t.find("l1")->attributes.erase("latency"); }),
              ElementsAre("l1.latency: inconclusive"));
  EXPECT_THAT(told([](Topology& t) { estimate(t, "l1", "size").status = Status::inconclusive; }),
              ElementsAre("l1.size: inconclusive"));
  EXPECT_THAT(told([](Topology& t) { estimate(t, "l1", "size").status = Status::not_supported; }),
              ElementsAre("l1.size: wrong"));
  EXPECT_THAT(told([](Topology& t) { estimate(t, "l1", "size").unit = "KiB"; }), ElementsAre("l1.size: wrong"));
}

TEST_F(ComparisonTest, HoldsSharingInstancesAndParents) {
  EXPECT_THAT(told([](Topology& t) { t.find("texture")->physical_cache = "texture"; }),
              ElementsAre("texture.physical_cache: wrong"));
  EXPECT_THAT(told([](Topology& t) { t.find("constant_l1")->parent = "l2"; }),
              ElementsAre("constant_l1.parent: wrong"));
  EXPECT_THAT(told([](Topology& t) { t.find("constant_l1")->instances_per_scope = 2; }),
              ElementsAre("constant_l1.instances_per_scope: wrong"));
  EXPECT_THAT(told([](Topology& t) {
                auto& sides = t.find("l2")->structure["l2_sides"];
                sides.value = "3", sides.status = Status::measured;
              }),
              ElementsAre("l2.l2_sides: wrong"));
  EXPECT_THAT(told([](Topology& t) {
                std::swap(t.find("constant_l1_5")->sm_groups[0][0], t.find("constant_l1_5")->sm_groups[1][0]);
              }),
              ElementsAre("constant_l1_5.shared_by: wrong"));
  EXPECT_THAT(told([](Topology& t) { t.find("constant_l1_5")->sm_groups.clear(); }),
              ElementsAre("constant_l1_5.shared_by: inconclusive"));
  EXPECT_THAT(told([](Topology& t) { t.find("l1")->scope = Scope::gpu; }), ElementsAre("l1.shared_by: wrong"));
}

TEST_F(ComparisonTest, HoldsEveryCarveOut) {
  EXPECT_THAT(told([](Topology& t) { *t.find("l1")->carve_outs[3].usable_bytes.value -= 128; }),
              ElementsAre("l1.carve_outs: wrong"));
  EXPECT_THAT(told([](Topology& t) { *t.find("l1")->carve_outs[3].shared_bytes.value += 1024; }),
              ElementsAre("l1.carve_outs: wrong"));
  EXPECT_THAT(told([](Topology& t) { t.find("l1")->carve_outs.pop_back(); }),
              ElementsAre("l1.carve_outs: inconclusive"));
}

TEST_F(ComparisonTest, HoldsPlacesOfSms) {
  EXPECT_THAT(told([](Topology& t) { std::swap(t.sm_places[0].cpc, t.sm_places[2].cpc); }),
              ElementsAre("GPU.cpc: wrong"));
  EXPECT_THAT(told([](Topology& t) { t.sm_places.clear(); }),
              ElementsAre("GPU.tpc: inconclusive", "GPU.cpc: inconclusive", "GPU.gpc: inconclusive",
                          "GPU.l2_partition: inconclusive"));
}

TEST_F(ComparisonTest, NoticesPartitionsAndMemoriesThatAreNotThere) {
  EXPECT_THAT(told([](Topology& t) { t.find("l1")->attributes["partitions"] = estimate(t, "l2", "partitions"); }),
              ElementsAre("l1.partitions: wrong"));
  EXPECT_THAT(told([](Topology& t) {
                t.memories.push_back(t.memories.front());
                t.memories.back().id = "l3";
              }),
              ElementsAre("l3.memory: wrong"));
  EXPECT_THAT(told([](Topology& t) { t.memories.erase(t.memories.begin()); }), ElementsAre("l1.memory: wrong"));
}

TEST(Complaints, LeaveOutWhatCannotBeDecided) {
  Statement s{"l1", "size", "1 B", "unknown", Verdict::inconclusive, true, "measured"};
  EXPECT_EQ(complaints({s}), "undecided l1.size: unknown instead of 1 B (measured)\n");
  s.decidable = false;
  EXPECT_EQ(complaints({s}), "");
  s.verdict = Verdict::wrong;
  EXPECT_EQ(complaints({s}), "WRONG l1.size: unknown instead of 1 B (measured)\n");
}

TEST(ResultsDocument, IsFoundAgainSectionBySection) {
  const std::string document = "# Title\n\n## a100\n\none\n\n## a10\n\ntwo\n";
  EXPECT_EQ(section_in(document, "a100"), "## a100\n\none\n\n");
  EXPECT_EQ(section_in(document, "a10"), "## a10\n\ntwo\n");
  EXPECT_EQ(section_in(document, "a1"), "");
}

}  // namespace
}  // namespace gputopo::test
