#include "evidence/looks/footprint.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "evidence/looks/banks.hpp"

namespace gputopo::evidence {
namespace {

using program::Record;
using program::Walk;

constexpr std::uint64_t loads_wanted = 1024;  // a row, so that small caches give as much evidence as large ones
constexpr std::uint32_t most_laps = 16;

std::uint64_t turns_of(const FootprintSpec& spec) {
  return turns_of_line(spec.stride_bytes, spec.front_line_bytes);
}

}  // namespace

std::uint64_t turns_of_line(std::uint64_t line_bytes, std::uint64_t front_line_bytes) {
  return front_line_bytes == 0 ? 1 : std::max<std::uint64_t>(1, line_bytes / front_line_bytes);
}

Walk rounds_of(const FootprintSpec& spec, std::uint64_t bytes, std::uint32_t timed_laps) {
  const std::uint64_t turns = turns_of(spec);
  Walk walk = recorded(make_walk(spec.path, bytes, spec.stride_bytes, 1), Record::histogram, 1);
  const std::uint64_t lines = program::positions(walk);
  if (turns > 1) {
    walk.stride_bytes = spec.front_line_bytes;
    walk.footprint_bytes = (lines * turns - 1) * spec.front_line_bytes;
    walk.order = program::Order::skipping;
    walk.order_seed = turns;
  }
  walk.lead_loads = spec.warm_laps * lines;
  walk.loads_per_lap = walk.lead_loads + timed_laps * lines;
  return walk;
}

program::Program footprint_program(const device::DeviceInfo& info, const FootprintSpec& spec, std::uint64_t bytes) {
  program::Program p = make_program(fmt::format("{} {} B", spec.path.id, bytes), info, spec.path.slot);
  p.isolation = spec.isolation;
  const bool has_banks = spec.bank_bytes != 0 && bytes > spec.bank_bytes;
  if (has_banks) add_banks(p, spec.bank_bytes, bytes);
  const Walk warm = make_walk(spec.path, bytes, spec.stride_bytes, spec.warm_laps);
  const auto laps = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(loads_wanted / program::lap_loads(warm), spec.timed_laps, most_laps));
  const std::uint64_t turns = turns_of(spec);
  if (has_banks) {
    for (std::uint32_t lap = 0; lap < spec.warm_laps + laps; ++lap) {
      Walk walk = warm;
      walk.laps = 1;
      if (turns > 1) walk.first_byte = lap % turns * spec.front_line_bytes;
      if (lap >= spec.warm_laps) walk = recorded(walk, Record::histogram, 1);
      for (const Walk& part : over_banks(walk, spec.bank_bytes, spec.front_line_bytes)) p.phases.emplace_back(part);
    }
  } else if (kernels_read(spec.path.slot)) {
    p.phases = {rounds_of(spec, bytes, laps)};
  } else {
    Walk timed = recorded(warm, Record::histogram, laps);
    if (spec.most_loads != 0 && program::lap_loads(timed) > spec.most_loads) {
      timed.order = program::Order::shuffled;
      timed.loads_per_lap = spec.most_loads;
      timed.laps = 1;
    }
    p.phases = {by_all_lanes(warm, info), timed};
  }
  return p;
}

Histogram recorded_histogram(const program::ProgramTrace& trace) {
  Histogram all;
  for (const auto& phase : trace.phases) all = merged(all, phase.histogram);
  return all;
}

CountRows count_footprints(Session& session, FootprintSpec spec, double threshold_cycles) {
  return [&session, spec, threshold_cycles](const std::vector<RowRequest>& rows,
                                            std::size_t replicates) -> Expected<Counts> {
    program::Batch batch;
    for (const RowRequest& row : rows) {
      FootprintSpec patient = spec;
      patient.warm_laps *= row.patience;
      batch.insert(batch.end(), replicates, footprint_program(session.info(), patient, row.footprint_bytes));
    }
    auto traces = session.run_while_they_fit(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    Counts counts;
    // Of a row not all of whose launches got through the others say nothing, but of the first, which is all there is.
    const std::size_t whole = traces->size() / replicates * replicates;
    for (std::size_t i = 0; i < std::max(whole, std::min(traces->size(), replicates)); ++i) {
      const Histogram timed = recorded_histogram((*traces)[i]);
      if (spec.walked != nullptr) *spec.walked = merged(*spec.walked, timed);
      const std::uint64_t told = count_from(timed, spec.front_threshold_cycles);
      Count count{static_cast<double>(rows[i / replicates].footprint_bytes), told, count_from(timed, threshold_cycles),
                  static_cast<std::uint32_t>(i % replicates), total(timed) - told};
      // Where the cache in front answered most of them, the others are its strangers.
      if (told < count.in_front) count.loads = 1, count.misses = 0;
      counts.push_back(count);
    }
    return counts;
  };
}

}  // namespace gputopo::evidence
