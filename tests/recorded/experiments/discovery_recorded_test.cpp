// Whole discoveries recorded on GPUs lead to the same Topologies again, bit for bit. A recording holds the programs of
// the version that made it.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/open/open.hpp"
#include "experiments/discover.hpp"
#include "topology/json.hpp"
#include "without_curve.hpp"

namespace gputopo {
namespace {

struct Recorded {
  std::string name;
  std::uint64_t l2_bytes;
  double l2_cycles;
  std::string folder() const { return std::string(GPUTOPO_SOURCE_DIR) + "/tests/fixtures/" + name + "/"; }
};

// Which of its SMs is SM 0, and how near that lies, differs from card to card: 277 and 284 cycles on two H100s.
const std::vector<Recorded> recorded_gpus{{"h100", 52428800, 281}, {"h200", 62914560, 282}};
constexpr std::uintmax_t largest_recording_bytes = 2'000'000;
constexpr std::size_t largest_evidence_bytes = 100'000;  // of fifty curves

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Topology recorded_topology(const std::string& folder) {
  const auto topology = parse_topology(read(folder + "topology.json"));
  if (!topology) ADD_FAILURE() << topology.error().message;
  return topology.value_or(Topology{});
}

Topology replayed_topology(const std::string& folder, std::vector<DecidingCurve>* curves = nullptr) {
  const auto spec = device::parse_spec("replay:" + folder + "recording.json");
  if (!spec) ADD_FAILURE() << spec.error().message;
  auto opened = device::open(*spec);
  if (!opened) ADD_FAILURE() << opened.error().message;
  experiments::DiscoverOptions options;
  options.curves = curves;
  auto topology = experiments::discover(*opened->device, options);
  if (!topology) ADD_FAILURE() << topology.error().message;
  return topology.value_or(Topology{});
}

// What time and place of a run change, and who assembled its kernels, of which a replay runs none; nothing else.
Topology without_circumstances(Topology t) {
  t.provenance.created.clear();
  t.provenance.device.clear();
  t.provenance.kernels.clear();
  t.provenance.duration_s = 0;
  t.provenance.breakdown_s.clear();
  return t;
}

class RecordedDiscovery : public testing::TestWithParam<Recorded> {
 protected:
  const std::string folder = GetParam().folder();
};

TEST_P(RecordedDiscovery, LeadsToTheSameTopologyBitForBit) {
  const Topology recorded = without_circumstances(recorded_topology(folder));
  const Topology replayed = without_circumstances(replayed_topology(folder));
  EXPECT_EQ(to_json_text(replayed), to_json_text(recorded));
}

TEST_P(RecordedDiscovery, IsSmallEnoughForTheRepository) {
  EXPECT_LE(std::filesystem::file_size(folder + "recording.json"), largest_recording_bytes);
}

TEST_P(RecordedDiscovery, HasTheCurveThatDecidedEachQuantity) {
  std::vector<DecidingCurve> curves;
  const Topology t = replayed_topology(folder, &curves);
  EXPECT_THAT(test::without_curve(t, curves), ::testing::IsEmpty());
  for (const DecidingCurve& c : curves) {
    EXPECT_FALSE(c.x.label.empty() || c.y.label.empty()) << c.memory << ' ' << c.quantity;
    if (c.change && c.interval) {
      EXPECT_LE(c.interval->low, c.interval->high) << c.memory << ' ' << c.quantity;
    }
  }
  // What is kept is read back, and small beside what was measured.
  const Evidence evidence{t.gpu.uuid, t.provenance.created, curves};
  const std::string text = to_json_text(evidence);
  EXPECT_LE(text.size(), largest_evidence_bytes);
  const auto read = parse_evidence(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, evidence);
}

TEST_P(RecordedDiscovery, LacksNothing) {
  for (const std::string& note : replayed_topology(folder).provenance.notes)
    EXPECT_EQ(note.find(": the recording doesn't hold"), std::string::npos) << note;
}

TEST_P(RecordedDiscovery, FindsWhatIsKnownOfTheGpu) {
  const Topology t = replayed_topology(folder);
  const auto value = [&](const char* id, const char* attribute) {
    const Memory* memory = t.find(id);
    const Estimate* estimate = memory != nullptr ? memory->find(attribute) : nullptr;
    return estimate != nullptr ? estimate->value.value_or(-1) : -1;
  };
  // 256 KiB less the 8 KiB carve-out and a fixed reservation of 7 KiB, within a line.
  EXPECT_NEAR(value("l1", "size"), 246656, 128);
  for (const char* id : {"texture", "read_only"}) {
    EXPECT_EQ(value(id, "size"), value("l1", "size"));
    ASSERT_NE(t.find(id), nullptr);
    EXPECT_EQ(t.find(id)->physical_cache, "l1");
  }
  EXPECT_EQ(value("l1", "line_size"), 128);
  EXPECT_EQ(value("l1", "sector_size"), 32);
  EXPECT_NEAR(value("l1", "latency"), 32, 0.5);  // the load alone, no address arithmetic
  EXPECT_NEAR(value("texture", "latency"), 87, 2);
  EXPECT_EQ(value("constant_l1", "size"), 2048);
  EXPECT_EQ(value("constant_l1", "line_size"), 64);
  ASSERT_NE(t.find("constant_l1_5"), nullptr);
  EXPECT_EQ(value("constant_l1_5", "size"), 131072);
  EXPECT_EQ(value("constant_l1_5", "line_size"), 256);
  EXPECT_EQ(value("l2", "size"), GetParam().l2_bytes);
  EXPECT_NEAR(value("l2", "latency"), GetParam().l2_cycles, 6);
  for (const char* id : {"l1", "texture", "read_only", "constant_l1"}) EXPECT_EQ(t.find(id)->scope, Scope::sm) << id;
  EXPECT_EQ(t.find("l2")->scope, Scope::gpu);
  ASSERT_FALSE(t.sharing.empty());
  for (const SharingCheck& check : t.sharing)
    EXPECT_EQ(check.verdict, check.second == "constant_l1" ? "apart" : "same") << check.first << ", " << check.second;
}

TEST_P(RecordedDiscovery, FindsItsGroupsCarveOutsAndBandwidths) {
  const Topology t = replayed_topology(folder);
  EXPECT_EQ(t.find("constant_l1_5")->sm_groups.size(), 8U);
  ASSERT_EQ(t.find("l1")->carve_outs.size(), 9U);
  for (const CarveOut& row : t.find("l1")->carve_outs) EXPECT_EQ(*row.reserved_bytes.value, 7168);
  EXPECT_EQ(t.find("l2")->find("line_size")->value, 128);
  // Of 128 B a cycle and SM at 1980 MHz.
  const double of_l1 = t.find("l1")->find("read_bandwidth")->value.value_or(0);
  EXPECT_GT(of_l1, 0.95 * 33.45e12);
  EXPECT_LT(of_l1, 33.45e12);
}

INSTANTIATE_TEST_SUITE_P(Gpus, RecordedDiscovery, testing::ValuesIn(recorded_gpus),
                         [](const auto& gpu) { return gpu.param.name; });

}  // namespace
}  // namespace gputopo
