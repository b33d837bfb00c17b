#include "evidence/held/l2_rows.hpp"

#include <set>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

// Runs nothing; keeps which lines of the counted pages programs look at, and where in their quarters.
class LookedAt : public device::Device {
 public:
  const device::DeviceInfo& info() const override { return info_; }
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    std::vector<program::ProgramTrace> traces(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (auto ok = program::validate(batch[i]); !ok) return tl::unexpected<Error>(ok.error());
      traces[i].phases.resize(batch[i].phases.size());
      for (const auto& phase : batch[i].phases) add(std::get<program::Walk>(phase));
    }
    return traces;
  }
  std::set<std::uint64_t> quarters, pages;
  std::uint64_t looks = 0;

 private:
  void add(const program::Walk& walk) {
    if (walk.record == program::Record::nothing) return;
    for (std::uint64_t n = 0; n < program::lap_loads(walk); ++n) {
      const std::uint64_t byte = walk.first_byte + n * walk.stride_bytes;
      quarters.insert(byte % counted_page_bytes / counted_apart_bytes);
      pages.insert(byte / counted_page_bytes);
      ++looks;
    }
  }
  device::DeviceInfo info_;
};

TEST(L2Rows, CountEachQuarterOfEachPartOfAFootprintAndNothingBehindIt) {
  for (const std::uint64_t pages : {16, 17, 61, 1000, 4097, 26095}) {
    LookedAt device;
    Session session(device, {});
    CacheFacts l2;
    l2.sector_bytes = 32;
    L2Rows rows(session, l2);
    L2Rows::Asked asked;
    const std::uint64_t programs = 16 * rows.sharing(pages * counted_page_bytes);
    const auto looks = rows.histograms({{pages * counted_page_bytes, 1}}, programs, Purpose::count, asked);
    ASSERT_TRUE(looks) << pages << " pages: " << looks.error().message;
    EXPECT_EQ(device.quarters.size(), counted_page_bytes / counted_apart_bytes) << pages << " pages";
    EXPECT_EQ(device.looks % (counted_page_bytes / counted_apart_bytes - 1), 0U) << "all but the one that translates";
    EXPECT_LT(*device.pages.rbegin(), pages);
    // A sixteenth of each of 16 parts is looked at at least.
    EXPECT_LT(*device.pages.begin(), (pages + 15) / 16) << pages << " pages";
    EXPECT_GE(*device.pages.rbegin(), pages - (pages + 15) / 16) << pages << " pages";
  }
}

}  // namespace
}  // namespace gputopo::evidence
