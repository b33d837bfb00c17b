#include "experiments/constant_modules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using change_point::Finding;
using program::Record;
using program::Walk;

constexpr std::uint32_t warm_laps = 3;
constexpr double no_limit_cycles = 1e9;

struct Footprint {
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> parts;  // one a module, whole lines
};

// As few modules as hold `bytes`, each a little less than full: the compiler may use the end of a bank itself.
Footprint spread(const Session& session, std::uint64_t bytes, std::uint64_t line_bytes) {
  const std::uint64_t bank = session.info().constant_bytes_per_module * 15 / 16;
  const std::uint64_t modules = std::max<std::uint64_t>(2, (bytes + bank - 1) / bank);
  const std::uint64_t lines = bytes / line_bytes;
  Footprint footprint;
  for (std::uint64_t m = 0; m < modules; ++m) {
    const std::uint64_t part = (lines * (m + 1) / modules - lines * m / modules) * line_bytes;
    footprint.parts.push_back(part);
    footprint.bytes += part;
  }
  return footprint;
}

program::Program modules_program(const Session& session, const Footprint& footprint, std::uint64_t line_bytes) {
  program::Program p;
  p.label = fmt::format("constant_l1_5 {} B in {} modules", footprint.bytes, footprint.parts.size());
  p.isolation = Scope::gpu;
  for (std::uint32_t m = 0; m < footprint.parts.size(); ++m)
    p.buffers.push_back({program::Space::constant, session.info().constant_bytes_per_module, m});
  for (std::uint32_t lap = 0; lap <= warm_laps; ++lap)
    for (std::uint32_t m = 0; m < footprint.parts.size(); ++m) {
      Walk walk;
      walk.buffer = m;
      walk.path = program::Path::constant;
      walk.footprint_bytes = footprint.parts[m];
      walk.stride_bytes = line_bytes;
      walk.record = lap == warm_laps ? Record::histogram : Record::nothing;
      p.phases.emplace_back(walk);
    }
  return p;
}

Expected<change_point::Trace> sweep_modules(Session& session, const ConstantL15& cache, std::uint64_t low,
                                            std::uint64_t high, std::uint64_t step) {
  program::Batch batch;
  std::vector<Footprint> footprints;
  for (std::uint64_t bytes = low; bytes <= high; bytes += step) {
    footprints.push_back(spread(session, bytes, cache.line_bytes));
    batch.push_back(modules_program(session, footprints.back(), cache.line_bytes));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  change_point::Trace trace;
  for (std::size_t i = 0; i < footprints.size(); ++i) {
    Histogram timed;
    for (const auto& phase : (*traces)[i].phases) timed = merged(timed, phase.histogram);
    trace.rows.push_back(
        {static_cast<double>(footprints[i].bytes), classified(timed, cache.threshold_cycles, no_limit_cycles)});
  }
  return trace;
}

}  // namespace

Expected<Finding> measure_constant_modules(Session& session, const ConstantL15& cache) {
  const std::uint64_t bank = session.info().constant_bytes_per_module;
  const std::uint64_t limit = bank * 15 / 16 * session.info().constant_modules;
  change_point::Options options;
  options.seed = session.options().seed;
  Finding finding;
  std::uint64_t low = bank / 2;
  std::uint64_t high = limit;
  for (std::uint64_t step : {std::uint64_t{8192}, std::max<std::uint64_t>(1024, cache.line_bytes)}) {
    auto trace = sweep_modules(session, cache, low, high, step);
    if (!trace) return tl::unexpected<Error>(trace.error());
    const Finding found = change_point::find_size(*trace, options);
    // Code and constants share the cache: the onset may be gradual, and the closer look then has nothing to add.
    if (finding.verdict == change_point::Verdict::value && found.verdict != change_point::Verdict::value) break;
    finding = found;
    if (finding.verdict != change_point::Verdict::value) break;
    const auto at = static_cast<std::uint64_t>(finding.value);
    low = at > 3 * step + bank / 2 ? at - 3 * step : bank / 2;
    high = std::min(limit, at + 4 * step);
  }
  finding.method = "modules";
  return finding;
}

}  // namespace gputopo::experiments
