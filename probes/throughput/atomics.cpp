// Atomic additions: to one address, to one line, to a line of each block's, spread; with and without an answer.
#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "throughput/benchmarks.hpp"

namespace gputopo::throughput {
namespace {

using program::Operation;
using program::Path;
using program::Region;
using program::Stream;

constexpr std::uint32_t atomics_most_threads = 1024;
constexpr std::uint64_t line_bytes = 128;
constexpr std::uint64_t atomics_sector_bytes = 32;
constexpr std::uint32_t atomics_turns = 64;

struct Scenario {
  const char* name;  // of the quantity
  std::uint64_t lane_stride;
  std::uint64_t warp_stride;
  Region region;  // in global memory; shared memory is a block's
  std::uint64_t footprint;
  std::uint32_t threads = atomics_most_threads;
};

constexpr std::uint64_t spread_bytes = std::uint64_t{4} * atomics_most_threads;

constexpr std::array<Scenario, 6> in_memory{
    {{"one_address", 0, 0, Region::grid, line_bytes},
     {"one_line", 4, 0, Region::grid, line_bytes},
     {"a_sector_a_lane", atomics_sector_bytes, 0, Region::grid, program::warp_lanes* atomics_sector_bytes},
     {"eight_lines", 4, line_bytes, Region::grid, 8 * line_bytes, 8 * program::warp_lanes},
     {"an_address_a_block", 0, 0, Region::block, line_bytes},
     {"an_address_a_thread", 4, line_bytes, Region::block, spread_bytes}}};
constexpr std::array<Scenario, 3> in_shared{{{"one_address", 0, 0, Region::block, line_bytes},
                                             {"one_line", 4, 0, Region::block, line_bytes},
                                             {"an_address_a_thread", 4, line_bytes, Region::block, spread_bytes}}};

Stream atomic_stream(const device::DeviceInfo& info, Path path, Operation operation, const Scenario& scenario) {
  Stream s;
  s.path = path;
  s.operation = operation;
  s.label = fmt::format("{} {} on {}", program::to_string(operation), scenario.name, program::to_string(path));
  s.arrangement = program::Arrangement::fixed;
  s.region = scenario.region;
  s.lane_stride_bytes = scenario.lane_stride;
  s.warp_stride_bytes = scenario.warp_stride;
  s.footprint_bytes = scenario.footprint;
  s.threads = scenario.threads;
  // Two blocks of one SM would have an address each in shared memory.
  s.blocks = (path == Path::shared ? 1 : 2 * atomics_most_threads / scenario.threads) * info.gpu.sm_count;
  s.items = s.unroll = 4;
  s.laps = atomics_turns;
  return s;
}

// In shared memory what happens is each SM's own.
Sample of_owner(const Sample& s, Path path, const device::DeviceInfo& info) {
  const double sms = path == Path::shared ? info.gpu.sm_count : 1;
  return {s.median / sms, {s.range.low / sms, s.range.high / sms}, s.runs};
}

template <std::size_t n>
Expected<void> measure_all(const Setting& setting, Path path, const std::array<Scenario, n>& scenarios,
                           Result& result) {
  const device::DeviceInfo& info = setting.meter.info();
  const char* memory = path == Path::shared ? "shared" : "l2";
  for (const Operation operation : {Operation::add, Operation::fetch_add})
    for (const Scenario& scenario : scenarios) {
      const Stream s = atomic_stream(info, path, operation, scenario);
      const auto sample = setting.meter.measure(s, Rate::additions_per_cycle);
      if (!sample && !leaves_open(sample.error())) return tl::unexpected<Error>(sample.error());
      if (!sample) {
        result.notes.push_back(sample.error().message);
        continue;
      }
      result.findings.push_back({memory,
                                 fmt::format("{}_to_{}", program::to_string(operation), scenario.name),
                                 estimate_of(of_owner(*sample, path, info), "1/cycle", "stream"),
                                 fmt::format("{} threads x {} an SM", s.threads, s.blocks / info.gpu.sm_count),
                                 {}});
    }
  return {};
}

}  // namespace

Expected<AdditionRates> addition_rates(const Setting& setting, Path path) {
  const device::DeviceInfo& info = setting.meter.info();
  AdditionRates rates;
  const std::array<std::pair<const char*, double AdditionRates::*>, 4> wanted{
      {{"one_address", &AdditionRates::address},
       {"a_sector_a_lane", &AdditionRates::sectors},
       {"eight_lines", &AdditionRates::rows},
       {"an_address_a_thread", &AdditionRates::spread}}};
  const std::span<const Scenario> scenarios =
      path == Path::shared ? std::span<const Scenario>(in_shared) : std::span<const Scenario>(in_memory);
  for (const auto& [name, member] : wanted)
    for (const Scenario& scenario : scenarios) {
      if (std::string_view(scenario.name) != name) continue;
      const auto sample =
          setting.meter.measure(atomic_stream(info, path, Operation::add, scenario), Rate::additions_per_cycle);
      if (!sample) return tl::unexpected<Error>(sample.error());
      rates.*member = of_owner(*sample, path, info).median;
    }
  return rates;
}

Expected<void> measure_atomics(const Setting& setting, Result& result) {
  if (auto ok = measure_all(setting, Path::global_cached, in_memory, result); !ok) return ok;
  setting.progress(0.5);
  if (setting.meter.info().shared_bytes_per_block == 0) {
    result.notes.push_back("this GPU has no shared memory");
    return {};
  }
  return measure_all(setting, Path::shared, in_shared, result);
}

}  // namespace gputopo::throughput
