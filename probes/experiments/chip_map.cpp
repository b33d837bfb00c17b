// Where does an SM sit? Where lines live on sides of the L2, each SM times the same ones; SMs on one side see the same
// pattern of near and far, those on the other its opposite. Without sides such a pattern is distance alone.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "evidence/curves.hpp"
#include "evidence/estimates.hpp"
#include "evidence/sm_clusters.hpp"
#include "evidence/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view chip_map_method = "latency_correlation";
constexpr std::size_t chip_map_lines = 384;
constexpr std::uint64_t chip_map_stride_bytes = 128;
constexpr std::size_t chip_map_repetitions = 2;

// By SM, each line's least of several loads: a program an SM, so that each takes far less than a process that shares
// the GPU gets at a time.
Expected<std::vector<std::vector<double>>> latencies_by_sm(Session& session) {
  program::Batch batch;
  for (std::uint32_t sm = 0; sm < session.info().gpu.sm_count; ++sm) {
    program::Program p = make_program(fmt::format("l2 latencies of SM {}", sm), session.info(), slot_flush);
    p.isolation = Scope::gpu;
    p.agents = {{sm, 0}};
    const program::Walk walk = make_walk(l2_path, chip_map_lines * chip_map_stride_bytes, chip_map_stride_bytes, 1);
    p.phases = {by_all_lanes(walk, session.info())};
    p.phases.insert(p.phases.end(), chip_map_repetitions, recorded(walk, program::Record::latencies, 1));
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::vector<double>> least;
  for (const auto& trace : *traces) {
    auto& of_sm = least.emplace_back(chip_map_lines, std::numeric_limits<double>::max());
    for (std::size_t lap = 1; lap <= chip_map_repetitions; ++lap)
      for (std::size_t line = 0; line < chip_map_lines; ++line)
        of_sm[line] = std::min<double>(of_sm[line], trace.phases[lap].latencies.at(line));
  }
  return least;
}

// How each SM's pattern goes with those of either side.
DecidingCurve sides_curve(const Correlations& r, const SmSets& sides) {
  DecidingCurve curve =
      make_curve("l2", "partition_separation", {"SM", "", false}, {"correlation with the SMs of a side", "", false});
  for (std::size_t side = 0; side < sides.size(); ++side) {
    Series& series = curve.series.emplace_back(Series{fmt::format("side {}", side), {}});
    for (std::uint32_t sm = 0; sm < r.size(); ++sm) series.points.emplace_back(sm, r.with(sm, sides[side]));
  }
  return curve;
}

}  // namespace

Expected<void> measure_chip_map(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  const std::uint32_t sms = session.info().gpu.sm_count;
  if (l2 == nullptr || !l2->present || !findings.lines_have_sides) return {};
  auto latencies = latencies_by_sm(session);
  if (!latencies) return tl::unexpected<Error>(latencies.error());
  const Correlations r(*latencies);
  const SmSets sides = opposite_sides(r);
  if (sides.size() != 2) return {};
  findings.place_sms(sides);
  session.keep(sides_curve(r, sides));
  findings.memory("l2").attributes["partition_separation"] =
      measured(separation(r, sides), "", chip_map_method, chip_map_lines * sms);
  return {};
}

}  // namespace gputopo::experiments
