// Workloads on the machine's own GPU.
#include <memory>

#include <gtest/gtest.h>

#include "device/cuda/cuda_device.hpp"
#include "throughput/registry.hpp"

namespace gputopo {
namespace {

class RealWorkloads : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = device::open_cuda(0);
    if (!opened) GTEST_SKIP() << "needs a GPU: " << opened.error().message;
    gpu_ = std::move(*opened);
  }
  throughput::Result result_of(const char* name) {
    throughput::Options options;
    options.chosen = {throughput::find_benchmark(name)};
    const auto report = throughput::run(*gpu_, Topology{}, options);
    EXPECT_TRUE(report) << report.error().message;
    return report && !report->results.empty() ? report->results.front() : throughput::Result{};
  }
  static double value_of(const throughput::Result& result, std::string_view quantity) {
    for (const auto& f : result.findings)
      if (f.quantity == quantity) return f.estimate.value.value_or(-1);
    return -1;
  }

  std::unique_ptr<device::Device> gpu_;
};

// No GPU since Volta begins more than four warps' instructions a cycle, or has a result in less than three cycles.
TEST_F(RealWorkloads, InstructionsAreWithinWhatSchedulersCan) {
  const auto result = result_of("instructions");
  for (const char* name : {"integer_add", "float_multiply_add", "integer_multiply_add", "shuffle"}) {
    EXPECT_GT(value_of(result, std::string(name) + "_rate"), 8) << name;
    EXPECT_LE(value_of(result, std::string(name) + "_rate"), 128) << name;
    EXPECT_GT(value_of(result, std::string(name) + "_latency"), 3) << name;
    EXPECT_LT(value_of(result, std::string(name) + "_latency"), 60) << name;
  }
  EXPECT_GT(value_of(result, "barrier_of_32_warps"), value_of(result, "barrier_of_1_warps"));
}

TEST_F(RealWorkloads, NothingSlowsDownBeforeTheCompilerSpills) {
  const auto result = result_of("spilling");
  EXPECT_GE(value_of(result, "items_at_full_rate"), value_of(result, "items_held_by_the_compiler"));
}

TEST_F(RealWorkloads, HistogramsCountEveryValue) {
  for (const auto& f : result_of("histogram").findings)
    EXPECT_EQ(f.estimate.status, Status::measured) << f.estimate.note;
}

TEST_F(RealWorkloads, OthersSharedMemoryIsFartherThanOnesOwn) {
  const auto result = result_of("clusters");
  if (result.findings.empty()) GTEST_SKIP() << "this GPU has no clusters";
  EXPECT_GT(value_of(result, "latency_of_others"), 2 * value_of(result, "latency_of_own"));
}

}  // namespace
}  // namespace gputopo
