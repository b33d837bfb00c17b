// Traffic and bytes by counters, on a device and counters that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/metrics.hpp"
#include "throughput/byte_counts.hpp"
#include "throughput/onset.hpp"
#include "throughput/traffic_counts.hpp"

namespace gputopo::throughput {
namespace {

using program::Stream;
using program::Workload;
using testing::HasSubstr;

// What the made-up GPU moved, in bytes.
struct Moved {
  double read = 0, written = 0;
};

class MadeUpGpu : public device::Device {
 public:
  MadeUpGpu() {
    info_.kind = "cuda";
    info_.gpu.sm_count = 2;
    info_.largest_buffer_bytes = std::uint64_t{1} << 40U;
  }
  const device::DeviceInfo& info() const override { return info_; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch&) override {
    return fail(Error::Kind::device, "unused");
  }
  // Every launch reads 96 bytes of its own; a product leaves a tenth of what it writes behind.
  Expected<program::WorkloadTrace> run_workload(const Workload& w) override {
    moved.read += 96;
    if (w.kernel == "product") {
      const double touched = static_cast<double>(w.numbers[1] / w.numbers[0]);
      moved.read += 128 * touched;
      moved.written += 32 * touched * 0.9;
      waiting_ = 32 * touched * 0.1;
    } else {
      moved.read += static_cast<double>(w.numbers[0]) - 640;  // some of it was still there
      moved.written += waiting_;
      waiting_ = 0;
    }
    return program::WorkloadTrace{};
  }
  Expected<program::StreamTrace> run_stream(const Stream& s) override {
    moved.read += static_cast<double>(program::counted_bytes(s)) * (s.laps + 1) / s.laps * seen;
    return program::StreamTrace{program::counted_bytes(s), program::counted_accesses(s), 100, 100, 2};
  }
  Moved moved;
  double seen = 1;  // share of a stream's bytes that the counters see

 private:
  device::DeviceInfo info_;
  double waiting_ = 0;
};

class MadeUpCounter : public counters::Counter {
 public:
  explicit MadeUpCounter(MadeUpGpu& gpu) : gpu_(gpu) {}
  const std::string& chip() const override { return chip_; }
  Expected<std::size_t> passes(const counters::Metrics&) override { return 1; }
  Expected<void> start(const counters::Metrics& metrics, std::size_t) override {
    metrics_ = metrics;
    values_.clear();
    return {};
  }
  Expected<void> begin_stretch() override {
    before_ = gpu_.moved;
    return {};
  }
  Expected<void> end_stretch() override {
    const std::vector<double> both{(gpu_.moved.read - before_.read) / 32, (gpu_.moved.written - before_.written) / 32};
    values_.emplace_back(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(metrics_.size()));
    return {};
  }
  Expected<std::vector<counters::Values>> stop() override { return values_; }

 private:
  MadeUpGpu& gpu_;
  std::string chip_ = "GH100";
  counters::Metrics metrics_;
  std::vector<counters::Values> values_;
  Moved before_;
};

class Counts : public testing::Test {
 protected:
  MadeUpGpu gpu_;
  Meter meter_{gpu_, nullptr};
  Topology sizes_;
  Setting setting_{meter_, sizes_, [](double) {},
                   [this] { return std::unique_ptr<counters::Counter>(new MadeUpCounter(gpu_)); }};
};

TEST_F(Counts, TellWhatWaitedFromWhatWentAndSubtractLaunches) {
  const auto counted = count_products(setting_, {{1'000'000, 1, 0}, {1'000'000, 10, 0}});
  ASSERT_TRUE(counted) << counted.error().message;
  ASSERT_EQ(counted->size(), 2U);
  // An empty product is one element: it is subtracted with its launch.
  EXPECT_NEAR((*counted)[0].kernel.read, 128 * (1e6 - 1), 1);
  EXPECT_NEAR((*counted)[0].kernel.written, 28.8 * (1e6 - 1), 1);
  EXPECT_NEAR((*counted)[0].later.written, 3.2 * (1e6 - 1), 1);
  EXPECT_NEAR((*counted)[0].later.read, 0, 1);
  EXPECT_NEAR((*counted)[1].kernel.read, 128 * (1e5 - 1), 1);
}

TEST_F(Counts, WithoutCountersGiveTheReason) {
  setting_.open_counter = []() -> Expected<std::unique_ptr<counters::Counter>> {
    return fail(Error::Kind::unavailable, "administrators alone may count");
  };
  const auto counted = count_products(setting_, {{1000, 1, 0}});
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().message, "administrators alone may count");
}

TEST_F(Counts, StandBesideThePredictionForEverySizeAndGranularity) {
  Memory l1, l2;
  l1.id = "l1", l2.id = "l2";
  for (auto& [memory, bytes] : {std::pair<Memory*, double>{&l1, 32}, {&l2, 64}}) {
    Estimate sector;
    sector.value = bytes;
    sector.unit = "B";
    sector.status = Status::measured;
    memory->attributes["sector_size"] = sector;
  }
  sizes_.memories = {l1, l2};
  Result result;
  const auto ok = measure_traffic(setting_, result);
  ASSERT_TRUE(ok) << ok.error().message;
  EXPECT_EQ(result.findings.size(), 3U * 3 * 3) << "sizes, granularities, kinds of accuracy";
  EXPECT_EQ(result.plots.size(), 9U + 1);
  for (const Finding& f : result.findings) {
    EXPECT_EQ(f.estimate.unit, "%");
    EXPECT_EQ(f.estimate.status, Status::measured);
    EXPECT_THAT(f.configuration, testing::ContainsRegex("^(50|100|200) M floats, (32|64|128) B at once$"));
  }
  // This GPU reads 128 bytes an element whatever is asked for: from stride 16 on what 64 B at once and no filling are.
  const Series& read = result.plots.front().series.front();
  EXPECT_EQ(read.points.size(), 14U);
  EXPECT_NEAR(read.points[4].y, 128 * 50.0 / 16, 0.01);
}

Result reached(Stream& s, const char* memory) {
  s.label = "s";
  s.laps = 3;
  s.path = program::Path::global_l2_only;
  s = program::fitted(s, 1 << 20);
  Estimate e;
  e.value = 5e12;
  e.unit = "B/s";
  e.status = Status::measured;
  Result result;
  result.findings.push_back({memory, "read_bandwidth", e, "", {}});
  return result;
}

TEST_F(Counts, OfBytesStandBesideThoseByCount) {
  Stream s;
  Result result = reached(s, "l2");
  ASSERT_TRUE(count_bytes(setting_, {{0, s}}, result));
  const Finding& f = result.findings.front();
  EXPECT_EQ(f.estimate.status, Status::measured);
  ASSERT_TRUE(f.bytes);
  EXPECT_EQ(f.bytes->by_count, 4.0 * static_cast<double>(s.footprint_bytes)) << "with the lap that warms up";
  EXPECT_EQ(f.bytes->by_counter, f.bytes->by_count);
}

TEST_F(Counts, ThatContradictAreAnErrorOfTheMeasurement) {
  Stream s;
  gpu_.seen = 0.98;
  Result result = reached(s, "device_memory");
  ASSERT_TRUE(count_bytes(setting_, {{0, s}}, result));
  EXPECT_EQ(result.findings.front().estimate.status, Status::inconclusive);
  EXPECT_FALSE(result.findings.front().estimate.value);
  EXPECT_THAT(result.findings.front().estimate.note, HasSubstr("an error of the measurement"));
}

// Requests of several SMs for the same bytes are one before the L2 sees them.
TEST_F(Counts, OfSharedReadingMayBeFewer) {
  Stream s;
  s.region = program::Region::all;
  gpu_.seen = 0.5;
  Result result = reached(s, "l2");
  ASSERT_TRUE(count_bytes(setting_, {{0, s}}, result));
  EXPECT_EQ(result.findings.front().estimate.status, Status::measured);
  EXPECT_NEAR(result.findings.front().bytes->by_counter / result.findings.front().bytes->by_count, 0.5, 1e-9);
}

TEST(Onset, IsTheLastThatCostsNothing) {
  std::vector<Cost> costs;
  for (int x = 4; x <= 64; x += 4) costs.push_back({double(x), 1 + (x > 40 ? 0.01 * (x - 40) : 0) + 0.0005 * (x % 3)});
  const auto onset = find_onset(costs, 0.003);
  ASSERT_TRUE(onset);
  EXPECT_EQ(costs[onset->at].x, 40);
  EXPECT_LE(costs[onset->low].x, 40);
  EXPECT_GE(costs[onset->high].x, 40);
  for (Cost& c : costs) c.cost = 1.0005;
  EXPECT_FALSE(find_onset(costs, 0.003));
}

}  // namespace
}  // namespace gputopo::throughput
