#include "evidence/inference/beyond_sms.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "evidence/inference/estimates.hpp"

namespace gputopo::evidence {
namespace {

// What an SM's clock steps by: no other one shows closer to the driver's.
constexpr std::uint64_t clock_step_khz = 15'000;

bool is_beyond_sms(const Memory& memory) {
  constexpr std::array<std::string_view, 5> beyond{"constant_l1_5", "instruction_l1_5", "instruction_l2", "l2",
                                                   "device_memory"};
  return std::ranges::find(beyond, memory.id) != beyond.end();
}

// Cycles of loads that leave the SM, whose clock isn't that of what serves them.
bool is_timed_beyond(const Memory& memory, std::string_view attribute, const Estimate& estimate) {
  return estimate.unit == "cycles" && (is_beyond_sms(memory) || attribute == "miss_penalty");
}

void open_beyond(Memory& memory, std::string_view why) {
  for (auto& [name, estimate] : memory.attributes)
    if (is_timed_beyond(memory, name, estimate) && estimate.has_value())
      estimate = inconclusive("cycles", estimate.method, why);
}

// What a miss of a cache in the SM takes longer than its hit is only in part beyond it.
double cycles_in_sm(const Memory& memory) {
  const Estimate* latency = memory.find("latency");
  return is_beyond_sms(memory) || latency == nullptr ? 0 : latency->value.value_or(0);
}

void reach_to_driver_clock(Estimate& estimate, double in_sm, double share, const std::string& note) {
  const auto at_driver_clock = [&](double cycles) { return std::max(cycles, (cycles + in_sm) / share - in_sm); };
  if (estimate.status == Status::upper_bound) estimate.value = at_driver_clock(*estimate.value);
  if (estimate.status == Status::measured) {
    const Interval timed = estimate.interval.value_or(Interval{*estimate.value, *estimate.value});
    estimate.interval = Interval{timed.low, at_driver_clock(timed.high)};
  }
  estimate.note += (estimate.note.empty() ? "" : "; ") + note;
}

}  // namespace

// Blocks of his may have shared memory of the L1's array, which is that much smaller while they are there. He delays
// loads, at no two of them alike or always. But what lies beyond the SMs is nearer on a busy GPU than on an idle one,
// at the same SM clock (docs/measuring.md).
void bound_what_others_take(Topology& t) {
  constexpr std::string_view why = "another process ran on this GPU at the same time";
  for (Memory& m : t.memories) {
    open_beyond(m, why);
    for (auto& [name, estimate] : m.attributes) {
      const bool is_capacity = name == "size" || name == "measured_size" || name == "partition_size";
      if (is_capacity && estimate.status == Status::measured) bound_below(estimate, why);
      if (estimate.unit == "cycles") bound_above(estimate, why);
    }
  }
  t.provenance.notes.push_back(
      fmt::format("{}, as under MPS: sizes are lower bounds, latencies upper ones and open beyond the SMs", why));
}

void bound_what_copies_take(Topology& t) {
  constexpr std::string_view why = "the L2 holds less than the driver says, as beside another program's copies";
  for (Memory& m : t.memories)
    for (auto& [name, estimate] : m.attributes) {
      if (is_beyond_sms(m) && estimate.unit == "B/s" && estimate.status == Status::measured) bound_below(estimate, why);
      // Memory that is busy is nearer (docs/measuring.md).
      const bool is_of_memory = m.id == "device_memory" || (m.id == "l2" && name == "miss_penalty");
      if (is_of_memory && estimate.unit == "cycles" && estimate.has_value())
        estimate = inconclusive("cycles", estimate.method, why);
    }
  t.provenance.notes.push_back(
      fmt::format("{}: bandwidths beyond the SMs are lower bounds, and what memory takes is open", why));
}

void open_what_clocks_change(Topology& t) {
  for (Memory& m : t.memories) open_beyond(m, "the GPU's clocks changed beside another program");
}

void state_clock(Topology& t, const SmClock& clock) {
  const std::uint64_t driver = t.gpu.clock_khz;
  const auto is_another = [&](std::uint64_t khz) {
    return khz != 0 && std::max(khz, driver) - std::min(khz, driver) > clock_step_khz;
  };
  if (is_another(clock.usual_khz)) t.gpu.measured_clock_khz = clock.usual_khz;
  if (!is_another(clock.slowest_khz) || clock.slowest_khz > driver) return;
  const double share = static_cast<double>(clock.slowest_khz) / static_cast<double>(driver);
  const std::string note = fmt::format("the SMs ran at {:.0f} % of the driver's clock", 100 * share);
  for (Memory& m : t.memories) {
    const double in_sm = cycles_in_sm(m);
    for (auto& [name, estimate] : m.attributes)
      if (is_timed_beyond(m, name, estimate) && estimate.has_value())
        reach_to_driver_clock(estimate, in_sm, share, note);
  }
}

}  // namespace gputopo::evidence
