// What of the kernels lies in this program.
#include "device/cuda/images.hpp"

#include <cstring>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::device::cuda {
namespace {

using testing::HasSubstr;

class Images : public testing::TestWithParam<Kernel> {};

TEST_P(Images, PtxIsForTheOldestGpusAndDrivers) {
  const std::string_view ptx = image_of(GetParam()).ptx;
  EXPECT_THAT(ptx, testing::StartsWith(".version 7.4\n.target sm_70\n"));
}

TEST_P(Images, PtxHoldsTheKernelAndItsConstantBank) {
  const Image image = image_of(GetParam());
  const std::string_view ptx = image.ptx;
  EXPECT_THAT(ptx, HasSubstr(std::string(".visible .entry ") + image.function + "("));
  EXPECT_THAT(ptx, HasSubstr("_ZN7gputopo7kernels4bankE[65536]"));
  EXPECT_EQ(ptx.substr(ptx.size() - 2), "}\n") << "cut off";
}

TEST_P(Images, MachineCodeIsThereWhereNvccWas) {
  const Image image = image_of(GetParam());
#ifdef GPUTOPO_HAS_MACHINE_CODE
  ASSERT_NE(image.machine_code, nullptr);
  EXPECT_EQ(std::memcmp(image.machine_code, "\x50\xed\x55\xba", 4), 0) << "not a fatbin";
#else
  EXPECT_EQ(image.machine_code, nullptr);
#endif
}

INSTANTIATE_TEST_SUITE_P(All, Images, testing::Values(Kernel::chase, Kernel::execute, Kernel::store, Kernel::banks));

}  // namespace
}  // namespace gputopo::device::cuda
