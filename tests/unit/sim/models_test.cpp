// Every built-in model behaves as its own truth says.
#include <gmock/gmock.h>

#include "tests/unit/sim/walks.hpp"

namespace gputopo::sim {
namespace {

double value_of_model(const Topology& t, std::string_view id, std::string_view attribute) {
  const Memory* m = t.find(id);
  const Estimate* e = m == nullptr ? nullptr : m->find(attribute);
  return e == nullptr ? -1 : e->value.value_or(-1);
}

class EveryModel : public testing::TestWithParam<std::string_view> {
 protected:
  // Slow loads of one lap over `bytes` at the stride of a sector, after two laps of warming.
  std::uint64_t misses(std::string_view id, Path path, std::uint64_t bytes) {
    const double slow = value_of_model(truth_, id, "latency") + value_of_model(truth_, id, "miss_penalty") / 2 +
                        model_.clock_overhead_cycles[static_cast<std::size_t>(path)];
    const auto stride = static_cast<std::uint64_t>(value_of_model(truth_, id, "sector_size"));
    // Partitions: near and far loads are both hits.
    const double far = value_of_model(truth_, id, "far_latency");
    const double threshold = far < 0 ? slow : (far + value_of_model(truth_, "device_memory", "latency")) / 2 + 20;
    const auto space = path == Path::constant ? program::Space::constant : program::Space::global;
    const auto trace = run_one(*device_, program_of({walk(path, bytes, stride, Record::nothing, 2),
                                                     walk(path, bytes, stride, Record::histogram)},
                                                    bytes, space));
    return above(trace.phases[1], threshold);
  }

  // Misses that noise and the kernel's own constants and code cause.
  static std::uint64_t allowance(std::uint64_t loads) { return 8 + loads / 2000; }

  Model model_ = *builtin_model(GetParam());
  Topology truth_ = truth(model_);
  std::unique_ptr<device::Device> device_ = make_device(model_);
};

TEST_P(EveryModel, StatesItsSourcesAndAWholeTruth) {
  EXPECT_EQ(model_.name, GetParam());
  EXPECT_FALSE(model_.sources.empty());
  const std::vector<std::string_view> ids{"l1", "texture", "read_only",    "constant_l1", "constant_l1_5",
                                          "l2", "shared",  "device_memory"};
  ASSERT_EQ(truth_.memories.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(truth_.memories[i].id, ids[i]);
    for (const auto& [name, e] : truth_.memories[i].attributes) {
      EXPECT_TRUE(e.status == Status::truth || e.status == Status::not_supported) << ids[i] << " " << name;
      EXPECT_EQ(e.has_value(), e.status == Status::truth) << ids[i] << " " << name;
    }
    const std::string& parent = truth_.memories[i].parent;
    EXPECT_TRUE(parent.empty() || truth_.find(parent) != nullptr) << ids[i] << " in " << parent;
  }
}

TEST_P(EveryModel, HoldsWhatItsTruthSaysAndNotALineMore) {
  for (const auto& [id, path] : {std::pair{"l1", Path::global_cached}, std::pair{"texture", Path::texture},
                                 std::pair{"read_only", Path::read_only}, std::pair{"constant_l1", Path::constant},
                                 std::pair{"l2", Path::global_l2_only}}) {
    if (value_of_model(truth_, id, "size") < 0) continue;
    const auto size = static_cast<std::uint64_t>(value_of_model(truth_, id, "size"));
    const auto line = static_cast<std::uint64_t>(value_of_model(truth_, id, "line_size"));
    const auto sector = static_cast<std::uint64_t>(value_of_model(truth_, id, "sector_size"));
    EXPECT_LE(misses(id, path, size - 4 * line), allowance(size / sector)) << id;
    const std::uint64_t fitting = misses(id, path, size);
    EXPECT_LE(fitting, allowance(size / sector)) << id;
    EXPECT_GT(misses(id, path, size + 4 * line), fitting) << id;
  }
}

TEST_P(EveryModel, HasADistinctLatencyForEachLevel) {
  for (const auto& [id, path] : {std::pair{"l1", Path::global_cached}, std::pair{"texture", Path::texture},
                                 std::pair{"read_only", Path::read_only}, std::pair{"constant_l1", Path::constant}}) {
    if (value_of_model(truth_, id, "size") < 0) continue;
    const auto space = path == Path::constant ? program::Space::constant : program::Space::global;
    const auto trace = run_one(
        *device_,
        program_of({walk(path, 1024, 32, Record::nothing), walk(path, 1024, 32, Record::lap_time, 50)}, 1024, space));
    const double mean = static_cast<double>(trace.phases[1].cycles) / static_cast<double>(trace.phases[1].loads);
    EXPECT_NEAR(mean, value_of_model(truth_, id, "latency"), 0.5) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, EveryModel, testing::ValuesIn(builtin_models().begin(), builtin_models().end()),
                         [](const auto& param) { return "m" + std::string(param.param); });

TEST(BuiltinModels, UnknownNameListsThoseThereAre) {
  const auto model = builtin_model("h2000");
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, testing::AllOf(testing::HasSubstr("h2000"), testing::HasSubstr("h200,")));
}

TEST(BuiltinModels, H200StatesTheMeasuredFigures) {
  const Topology t = truth(*builtin_model("h200"));
  for (const char* id : {"l1", "texture", "read_only"}) {
    EXPECT_EQ(value_of_model(t, id, "size"), 246656) << id;
    EXPECT_EQ(value_of_model(t, id, "line_size"), 128) << id;
    EXPECT_EQ(value_of_model(t, id, "sector_size"), 32) << id;
    EXPECT_EQ(t.find(id)->physical_cache, "l1");
  }
  EXPECT_EQ(value_of_model(t, "l1", "latency"), 38);
  EXPECT_EQ(value_of_model(t, "texture", "latency"), 87);
  EXPECT_EQ(value_of_model(t, "constant_l1", "size"), 2048);
  EXPECT_EQ(value_of_model(t, "constant_l1_5", "size"), 131072);
  EXPECT_EQ(value_of_model(t, "constant_l1_5", "line_size"), 256);
  EXPECT_EQ(value_of_model(t, "l2", "size"), 60 << 20);
  EXPECT_EQ(value_of_model(t, "l2", "partition_size"), 30 << 20);
  EXPECT_EQ(value_of_model(t, "shared", "size"), 228 << 10);
  EXPECT_EQ(t.find("constant_l1_5")->sm_groups.size(), 8U);
  EXPECT_EQ(t.find("constant_l1")->parent, "constant_l1_5");
}

TEST(BuiltinModels, ResidentLinesOfTheH200MatchTheUsableL1AtEachCarveOut) {
  const Model model = *builtin_model("h200");
  const auto device = make_device(model);
  const Topology t = truth(model);
  ASSERT_EQ(t.find("l1")->carve_outs.size(), 9U);
  for (const CarveOut& c : t.find("l1")->carve_outs) {
    program::Program p = program_of({walk(Path::global_cached, 600 << 10, 32, Record::nothing),
                                     walk(Path::global_no_allocate, 600 << 10, 32, Record::histogram)},
                                    600 << 10);
    p.carve_out_percent = static_cast<std::uint32_t>(c.requested_percent);
    const auto trace = run_one(*device, p);
    const std::uint64_t resident = trace.phases[1].loads - above(trace.phases[1], 150);
    EXPECT_NEAR(static_cast<double>(resident) * 32, *c.usable_bytes.value, 96) << c.requested_percent;
  }
}

TEST(BuiltinModels, OneLineOfTheH200sConstantL1GoesToTheKernelsOwnConstants) {
  const auto device = make_device(*builtin_model("h200"));
  const auto misses = [&](std::uint64_t bytes) {
    const auto trace = run_one(*device, program_of({walk(Path::constant, bytes, 64, Record::nothing),
                                                    walk(Path::constant, bytes, 64, Record::histogram)},
                                                   bytes, program::Space::constant));
    return above(trace.phases[1], 90);
  };
  EXPECT_EQ(misses(1728), 0U);
  EXPECT_EQ(misses(1792), 1U);
  EXPECT_EQ(misses(2048), 1U);
  EXPECT_GE(misses(2112), 5U);
}

}  // namespace
}  // namespace gputopo::sim
