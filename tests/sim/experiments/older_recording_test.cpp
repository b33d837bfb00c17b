// A recording from before an experiment changed: what that one tells is open, with the reason, and the rest stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/replay/recording_device.hpp"
#include "device/replay/replay_device.hpp"
#include "device/sim/builtin.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"
#include "topology/json.hpp"

namespace gputopo {
namespace {

replay::Recording recorded(Topology& found) {
  const auto device = sim::make_device(*sim::builtin_model("840m"));
  replay::RecordingDevice recorder(*device);
  found = *experiments::discover(recorder, {});
  return recorder.recording();
}

Topology without_circumstances(Topology t) {
  t.provenance = {};
  return t;
}

TEST(OlderRecording, LeavesOpenWhatItsExperimentWasAskedForOtherwise) {
  Topology whole;
  replay::Recording recording = recorded(whole);
  const std::size_t all = recording.runs.size();
  std::erase_if(recording.runs,
                [](const replay::Run& r) { return r.label.find("against code on SM") != r.label.npos; });
  ASSERT_LT(recording.runs.size(), all);
  replay::ReplayDevice device(std::move(recording));
  const auto part = experiments::discover(device, {});
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_THAT(part->provenance.notes,
              ::testing::Contains(::testing::HasSubstr("constant_l1_5.groups: the recording doesn't hold")));
  // Nothing else differs.
  Topology expected = without_circumstances(whole), found = without_circumstances(*part);
  for (Topology* t : {&expected, &found}) {
    Memory* behind = t->find("constant_l1_5");
    ASSERT_NE(behind, nullptr);
    behind->sm_groups.clear();
    behind->scope.reset();
    behind->structure.erase("scope");
    behind->attributes.erase("instances");
  }
  EXPECT_EQ(to_json_text(found), to_json_text(expected));
}

TEST(OlderRecording, WithoutEvenTheFirstProgramIsAnError) {
  Topology whole;
  replay::Recording recording = recorded(whole);
  recording.runs.erase(recording.runs.begin());
  replay::ReplayDevice device(std::move(recording));
  const auto found = experiments::discover(device, {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace gputopo
