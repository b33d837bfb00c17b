#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"

namespace gputopo::sim {
namespace {

using program::Path;

program::Walk walk(Path path, std::uint64_t footprint_bytes, std::uint64_t stride_bytes, program::Record record) {
  program::Walk w;
  w.path = path;
  w.footprint_bytes = footprint_bytes;
  w.stride_bytes = stride_bytes;
  w.record = record;
  return w;
}

double usable_size(const Topology& t, std::string_view id) {
  return t.find(id)->find("size")->value.value_or(-1);
}

TEST(BuiltinModels, AllParseAndHaveAnExplicitTruth) {
  ASSERT_FALSE(builtin_models().empty());
  for (const std::string_view name : builtin_models()) {
    const auto model = builtin_model(name);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->name, name);
    EXPECT_FALSE(model->sources.empty()) << name;
    const Topology t = truth(*model);
    ASSERT_EQ(t.memories.size(), 8U);
    for (const Memory& m : t.memories)
      for (const auto& [attribute, e] : m.attributes)
        EXPECT_EQ(e.has_value(), e.status == Status::truth) << name << " " << m.id << " " << attribute;
  }
}

TEST(BuiltinModels, H200StatesTheMeasuredSizes) {
  const Topology t = truth(*builtin_model("h200"));
  EXPECT_EQ(usable_size(t, "l1"), 246656);
  EXPECT_EQ(usable_size(t, "texture"), 246656);
  EXPECT_EQ(usable_size(t, "constant_l1"), 2048);
  EXPECT_EQ(usable_size(t, "constant_l1_5"), 131072);
  EXPECT_EQ(usable_size(t, "l2"), 60 << 20);
  EXPECT_EQ(t.find("constant_l1_5")->sm_groups.size(), 8U);
  EXPECT_EQ(t.find("texture")->physical_cache, "l1");
  EXPECT_EQ(t.find("constant_l1")->parent, "constant_l1_5");
}

// Walks the usable size, and one line more, after warming; counts loads slower than the first level.
std::uint64_t misses(device::Device& device, Path path, std::uint64_t bytes, std::uint64_t stride, double threshold) {
  program::Program p;
  p.buffers = {{path == Path::constant ? program::Space::constant : program::Space::global, bytes, 0}};
  p.phases = {walk(path, bytes, stride, program::Record::nothing),
              walk(path, bytes, stride, program::Record::histogram)};
  const auto traces = device.run({p});
  EXPECT_TRUE(traces) << traces.error().message;
  std::uint64_t count = 0;
  if (traces)
    for (const auto& bin : traces->front().phases[1].histogram)
      if (bin.latency_cycles > threshold) count += bin.count;
  return count;
}

TEST(BuiltinModels, ResidentLinesMatchTheUsableL1AtEachCarveOut) {
  const auto device = make_device(*builtin_model("h200"));
  const Topology t = truth(*builtin_model("h200"));
  for (const CarveOut& c : t.find("l1")->carve_outs) {
    program::Program p;
    p.buffers = {{program::Space::global, 600 << 10, 0}};
    p.carve_out_percent = static_cast<std::uint32_t>(c.requested_percent);
    p.phases = {walk(Path::global_cached, 600 << 10, 32, program::Record::nothing),
                walk(Path::global_no_allocate, 600 << 10, 32, program::Record::histogram)};
    const auto traces = device->run({p});
    ASSERT_TRUE(traces) << traces.error().message;
    std::uint64_t resident = 0;
    for (const auto& bin : traces->front().phases[1].histogram)
      if (bin.latency_cycles < 150) resident += bin.count;
    EXPECT_NEAR(static_cast<double>(resident) * 32, *c.usable_bytes.value, 128) << c.requested_percent;
  }
}

TEST(BuiltinModels, FootprintsOfTheUsableSizeFitAndMoreDoNot) {
  struct Case {
    std::string_view model;
    Path path;
    std::uint64_t bytes, stride;
    double threshold;
  };
  for (const Case& c : {Case{"h200", Path::global_cached, 246656, 32, 150},
                        {"p6000", Path::texture, 24576, 32, 170},
                        {"k20c", Path::texture, 12288, 32, 190},
                        {"k20c", Path::global_cached, 16384, 128, 140},
                        {"a100", Path::global_cached, 190720, 32, 130}}) {
    const auto device = make_device(*builtin_model(c.model));
    EXPECT_LE(misses(*device, c.path, c.bytes, c.stride, c.threshold), c.bytes / c.stride / 1000) << c.model;
    EXPECT_GT(misses(*device, c.path, c.bytes + 128, c.stride, c.threshold), 0U) << c.model;
  }
}

TEST(BuiltinModels, OneLineOfTheConstantL1GoesToTheKernelsOwnConstants) {
  const auto device = make_device(*builtin_model("h200"));
  EXPECT_EQ(misses(*device, Path::constant, 1728, 64, 80), 0U);
  EXPECT_EQ(misses(*device, Path::constant, 1792, 64, 80), 1U);
  EXPECT_EQ(misses(*device, Path::constant, 2048, 64, 80), 1U);
  EXPECT_GE(misses(*device, Path::constant, 2112, 64, 80), 5U);
}

}  // namespace
}  // namespace gputopo::sim
