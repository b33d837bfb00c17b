#include "cli/counters.hpp"

#include <fmt/format.h>

#include "counters/open.hpp"
#include "device/open/open.hpp"

namespace gputopo::cli {

Expected<std::unique_ptr<counters::Counter>> open_counter_of(const device::Device& device, const device::Spec& spec) {
  const bool is_real = device.info().kind == "cuda";
  if (!is_real && spec.kind == device::Spec::Kind::automatic)
    return fail(Error::Kind::unavailable, "no GPU whose counters could tell: " + device::list_devices().no_real_reason);
  if (!is_real)
    return fail(Error::Kind::unavailable,
                fmt::format("a {} GPU has no hardware counters; choose a real one by --device cuda:N",
                            device.info().kind == "replay" ? "recorded" : "simulated"));
  int ordinal = spec.ordinal;
  if (spec.kind == device::Spec::Kind::automatic) {
    // The first that opens isn't always the driver's first.
    const auto list = device::list_devices();
    for (std::size_t i = 0; i < list.real.size(); ++i)
      if (list.real[i].info.gpu.uuid == device.info().gpu.uuid) ordinal = static_cast<int>(i);
  }
  return counters::open_counter(ordinal);
}

std::vector<CheckedFootprint> checked_footprints(const std::vector<CrossCheck>& entries) {
  std::vector<CheckedFootprint> rows;
  for (const CrossCheck& entry : entries) {
    const bool loads = entry.metric.starts_with(experiments::check_of_loads);
    const bool misses = entry.metric.find(": ") == std::string::npos;
    if (!loads && !misses) continue;
    const bool continues = loads && !rows.empty() && !rows.back().loads_issued && rows.back().memory == entry.memory &&
                           rows.back().size_bytes == entry.size_bytes &&
                           rows.back().carve_out_percent == entry.carve_out_percent;
    if (!continues)
      rows.push_back({entry.memory, entry.carve_out_percent, entry.size_bytes, entry.loads, {}, {}, {}, entry.verdict});
    CheckedFootprint& row = rows.back();
    if (loads) {
      row.loads_issued = entry.by_counter;
    } else {
      row.by_timing = entry.by_timing;
      row.by_counter = entry.by_counter;
    }
    if (entry.verdict == experiments::verdict_differs) row.verdict = entry.verdict;
  }
  return rows;
}

std::string failed_memories(const Topology& topology, const experiments::CrossCheckReport& report) {
  std::vector<std::string> failed;
  for (const Memory& memory : topology.memories)
    if (report.verdict(memory.id) == experiments::verdict_differs) failed.push_back(memory.id);
  return fmt::format("{}", fmt::join(failed, ", "));
}

std::string contradiction(const std::string& failed) {
  return fmt::format("gputopo: counters contradict timing for {}; docs/counters.md tells how to read that", failed);
}

}  // namespace gputopo::cli
