// The constant L1.5 past one module's bank.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/model.hpp"
#include "device/sim/sim_device.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

sim::Model v100() {
  auto model = sim::builtin_model("v100");
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

// Kernels of several modules never meet, as under a debugger.
class OneAtATime final : public device::Device {
 public:
  explicit OneAtATime(sim::Model model) : device_(sim::make_device(std::move(model))) {}
  const device::DeviceInfo& info() const override { return device_->info(); }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    for (const auto& p : batch)
      if (std::any_of(p.buffers.begin(), p.buffers.end(), [](const auto& b) { return b.module > 0; }))
        return fail(Error::Kind::unavailable, "couldn't place a thread block");
    return device_->run(batch);
  }

 private:
  std::unique_ptr<device::Device> device_;
};

Estimate size_found(device::Device& device) {
  experiments::DiscoverOptions options;
  options.only = {"constant_l1_5"};
  options.extras = false;
  const auto found = experiments::discover(device, options);
  EXPECT_TRUE(found) << found.error().message;
  return *found->find("constant_l1_5")->find("size");
}

TEST(ConstantModules, FindTheSizeToTheLine) {
  const auto device = sim::make_device(v100());
  const Estimate size = size_found(*device);
  EXPECT_EQ(size.status, Status::measured);
  EXPECT_EQ(size.value, 128 * 1024);
  EXPECT_EQ(size.method, "modules");
}

TEST(ConstantModules, GiveALowerBoundWhereAllOfThemFit) {
  sim::Model model = v100();
  model.constant_modules = 2;
  const auto device = sim::make_device(std::move(model));
  const Estimate size = size_found(*device);
  EXPECT_EQ(size.status, Status::lower_bound);
  EXPECT_GE(*size.value, 126 * 1024);  // the last lines may be the kernel's own
  EXPECT_LE(*size.value, 128 * 1024);
}

TEST(ConstantModules, LeaveTheBoundOfOneBankWhereTheyCannotRunSideBySide) {
  OneAtATime device(v100());
  const Estimate size = size_found(device);
  EXPECT_EQ(size.status, Status::lower_bound);
  EXPECT_EQ(size.value, 64 * 1024);
  EXPECT_THAT(size.note, testing::HasSubstr("can't be walked here: couldn't place a thread block"));
}

}  // namespace
}  // namespace gputopo
