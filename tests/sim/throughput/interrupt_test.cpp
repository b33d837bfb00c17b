// An interrupt keeps what is done.
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "random_throughput.hpp"
#include "throughput/meter.hpp"
#include "throughput/registry.hpp"

namespace gputopo::throughput {
namespace {

// Asks for the run's end after so many streams.
class Impatient : public device::Device {
 public:
  Impatient(device::Device& inner, int streams) : inner_(inner), left_(streams) {}
  const device::DeviceInfo& info() const override { return inner_.info(); }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override { return inner_.run(batch); }
  Expected<program::StreamTrace> run_stream(const program::Stream& s) override {
    if (--left_ == 0) stop = true;
    return inner_.run_stream(s);
  }
  int ran(int streams) const { return streams - left_; }
  std::atomic<bool> stop{false};

 private:
  device::Device& inner_;
  int left_;
};

constexpr int never = 1000000;

Report interrupted_after(int streams, std::initializer_list<const char*> names, int* ran = nullptr) {
  auto model = *sim::parse_model(model_text(random_throughput(1)), "random");
  const Topology sizes = sim::truth(model);
  auto device = sim::make_device(std::move(model));
  Impatient impatient(*device, streams);
  Options options;
  options.stop = &impatient.stop;
  for (const char* name : names) options.chosen.push_back(find_benchmark(name));
  auto report = run(impatient, sizes, options);
  EXPECT_TRUE(report) << report.error().message;
  if (ran != nullptr) *ran = impatient.ran(streams);
  return report.value_or(Report{});
}

TEST(Interrupt, KeepsTheBenchmarksAndFindingsThatWereDone) {
  const Report early = interrupted_after(3, {"banks", "atomics"});
  EXPECT_TRUE(early.interrupted);
  EXPECT_TRUE(early.results.empty());
  int of_banks = 0;
  EXPECT_FALSE(interrupted_after(never, {"banks"}, &of_banks).interrupted);
  const Report late = interrupted_after(of_banks + 2 * runs_of_a_figure + 1, {"banks", "atomics"});
  EXPECT_TRUE(late.interrupted);
  ASSERT_EQ(late.results.size(), 2U);
  EXPECT_EQ(late.results[0].findings.size(), 4U);
  EXPECT_EQ(late.results[1].findings.size(), 2U);
  EXPECT_EQ(late.results[1].notes.back(), "interrupted: what was done by then");
}

}  // namespace
}  // namespace gputopo::throughput
