// Sets of a large cache, of a device that plays one.
#include "evidence/organisation/eviction_sets.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace gputopo::evidence {
namespace {

// LRU sets, of which each row of lines gives every set one, turned by an amount of its own. Lines of somebody else's
// come to 16 of them in turns, one in so many loads, as a kernel's own do: four neighbours each quarter of a row.
class TurnedRows : public device::Device {
 public:
  static constexpr std::uint64_t line_bytes = 128, sets = 4096, ways = 16;

  // Hits of one line in `slow_every` take as long as misses, but for one in eight; 0: of none.
  explicit TurnedRows(std::uint64_t others_every, std::uint64_t slow_every = 0)
      : others_every_(others_every), slow_every_(slow_every) {
    info_.gpu.sm_count = 1;
    info_.l2_bytes = sets * ways * line_bytes;
    info_.largest_recording = 4096;
    info_.largest_buffer_bytes = std::uint64_t{8} << 30;
    info_.warps_per_block = 4;
  }
  const device::DeviceInfo& info() const override { return info_; }

  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch) override {
    std::vector<program::ProgramTrace> traces;
    for (const program::Program& p : batch) {
      program::ProgramTrace& trace = traces.emplace_back();
      trace.agent_sms = {0};
      for (const program::Phase& phase : p.phases) trace.phases.push_back(walk(std::get<program::Walk>(phase)));
    }
    return traces;
  }

  static std::uint64_t set_of(std::uint64_t line) {
    const std::uint64_t row = line / sets;
    return (line + row * 2654435761U % 4093) % sets;
  }

 private:
  program::PhaseTrace walk(const program::Walk& w) {
    program::PhaseTrace trace;
    for (std::uint32_t lap = 0; lap < w.laps; ++lap)
      for (std::uint64_t at = 0; at + 4 <= w.footprint_bytes; at += w.stride_bytes) {
        if (++loads_ % others_every_ == 0) load_others(loads_ / others_every_ % 16);
        const std::uint64_t line = (w.first_byte + at) / line_bytes;
        const bool is_slow =
            slow_every_ != 0 && line % slow_every_ == slow_every_ / 2 && loads_ * 0x9E3779B97F4A7C15U >> 61 != 0;
        const bool hit = is_hit(set_of(line), line) && !is_slow;
        ++trace.loads;
        if (w.record == program::Record::latencies) trace.latencies.push_back(hit ? 200 : 500);
      }
    return trace;
  }

  void load_others(std::uint64_t number) { is_hit(number / 4 * (sets / 4) + number % 4, others_line); }

  bool is_hit(std::uint64_t set, std::uint64_t line) {
    std::vector<std::uint64_t>& held = held_[set];  // the latest last
    const auto at = std::find(held.begin(), held.end(), line);
    const bool hit = at != held.end();
    if (hit)
      held.erase(at);
    else if (held.size() == ways)
      held.erase(held.begin());
    held.push_back(line);
    return hit;
  }

  static constexpr std::uint64_t others_line = ~std::uint64_t{0};
  device::DeviceInfo info_;
  std::uint64_t others_every_, slow_every_, loads_ = 0;
  std::vector<std::vector<std::uint64_t>> held_ = std::vector<std::vector<std::uint64_t>>(sets);
};

// Sets into which somebody else's lines come are overfull by a circle a row shorter than the others need, and aren't of
// their own lines walked by themselves.
TEST(EvictionSets, AreFoundBehindSomeThatSomebodyElseFills) {
  TurnedRows gpu(1024);
  Session session(gpu, {});
  const auto found = find_eviction_sets(session, {gpu.line_bytes, gpu.sets * gpu.ways, 350, 1e-4, 0}, 8);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->sets.size(), 8U) << found->why_open;
  for (const EvictionSet& set : found->sets) {
    EXPECT_EQ(set.lines.size(), gpu.ways + 1);
    for (const std::uint64_t line : set.lines)
      EXPECT_EQ(TurnedRows::set_of(line), TurnedRows::set_of(set.lines.front()));
  }
}

// Two lines that are slow whether or not they were lost push out nobody: either is as slow by itself.
TEST(EvictionSets, AreNoTwoLinesThatAreSlow) {
  TurnedRows gpu(1 << 20, 2048);
  Session session(gpu, {});
  const auto found = find_eviction_sets(session, {gpu.line_bytes, gpu.sets * gpu.ways, 350, 1e-4, 0}, 2);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_GE(found->sets.size(), 1U) << found->why_open;
  for (const EvictionSet& set : found->sets) EXPECT_EQ(set.lines.size(), gpu.ways + 1);
}

}  // namespace
}  // namespace gputopo::evidence
