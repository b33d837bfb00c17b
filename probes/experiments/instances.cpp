#include "experiments/instances.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;
using program::Walk;

constexpr std::uint32_t most_warps = 32;
constexpr std::uint32_t most_instances = 8;
constexpr double shared_from = 0.15;
constexpr std::uint64_t few_loads = 64;  // of so few, chance may spare all but one in seven
constexpr std::size_t repetitions = 8;   // of what chance may have decided

double gone(std::span<const program::LatencyCount> histogram, double threshold_cycles) {
  return static_cast<double>(count_from(histogram, threshold_cycles)) /
         static_cast<double>(std::max<std::uint64_t>(1, total(histogram)));
}

program::Program pair_program(const Session& session, const CachePath& path, const SmCache& cache,
                              std::uint64_t stride_bytes, std::uint32_t first, std::uint32_t second) {
  program::Program p = make_program(fmt::format("{} warp {} against {}", path.id, first, second), session.info(),
                                    std::max(path.slot, slot_flush));
  p.agents = {{std::nullopt, first}, {std::nullopt, second}};
  const Walk fill = make_walk(path, cache.capacity_bytes * 2 / 3, stride_bytes, 2);
  Walk disturb = fill;
  disturb.agent = 1;
  if (path.slot == slot_constant) {
    disturb.first_byte = session.info().constant_bytes_per_module / 2;
  } else {
    // Behind everything that fills walk, so that no line is both kept and brought in.
    disturb.first_byte = sweep_limit_bytes;
  }
  p.phases = {fill, disturb, recorded(fill, Record::histogram, 1)};
  return p;
}

}  // namespace

Expected<Instances> measure_instances(Session& session, const CachePath& path, const SmCache& cache) {
  Instances result;
  const std::uint32_t warps = std::min(most_warps, session.info().warps_per_block);
  constexpr std::uint32_t unknown = most_instances;
  result.of_warp.assign(warps, unknown);
  result.disturbance.assign(warps, 0);
  // One load a line, or as few more as is known: loads that follow a miss into its line hit, and water down the share.
  const auto known = [&](const char* name, std::uint64_t otherwise) {
    const Estimate* e = cache.memory.find(name);
    return e != nullptr && e->has_value() ? static_cast<std::uint64_t>(*e->value) : otherwise;
  };
  const std::uint64_t stride = known("line_size", known("sector_size", 32));
  result.count = 0;
  while (result.count < most_instances) {
    const auto open = std::find(result.of_warp.begin(), result.of_warp.end(), unknown);
    if (open == result.of_warp.end()) break;
    const auto representative = static_cast<std::uint32_t>(open - result.of_warp.begin());
    *open = result.count;
    program::Batch batch;
    std::vector<std::uint32_t> tried;
    for (std::uint32_t warp = representative + 1; warp < warps; ++warp) {
      if (result.of_warp[warp] != unknown) continue;
      tried.push_back(warp);
      batch.push_back(pair_program(session, path, cache, stride, representative, warp));
    }
    if (!batch.empty()) {
      auto traces = session.run(batch);
      if (!traces) return tl::unexpected<Error>(traces.error());
      for (std::size_t i = 0; i < tried.size(); ++i) {
        Histogram histogram = (*traces)[i].phases.back().histogram;
        if (total(histogram) < few_loads && gone(histogram, cache.threshold_cycles) < shared_from) {
          auto again = session.run(program::Batch(repetitions, batch[i]));
          if (!again) return tl::unexpected<Error>(again.error());
          for (const auto& trace : *again) histogram = merged(histogram, trace.phases.back().histogram);
        }
        result.samples += total(histogram);
        const double share = gone(histogram, cache.threshold_cycles);
        if (representative == 0) result.disturbance[tried[i]] = share;
        if (share >= shared_from) result.of_warp[tried[i]] = result.count;
      }
    }
    ++result.count;
  }
  return result;
}

}  // namespace gputopo::experiments
