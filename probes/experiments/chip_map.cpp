// Where does an SM sit? Where lines live on sides of the L2, each SM times the same ones; SMs on one side see the same
// pattern of near and far, and no two sides have a near line in common. Without sides such a pattern is distance alone.
#include <fmt/format.h>

#include "evidence/chip/sm_clusters.hpp"
#include "evidence/chip/sm_latencies.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/structure.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view chip_map_method = "latency_correlation";
constexpr std::size_t chip_map_lines = 384;
constexpr std::size_t chip_map_repetitions = 2;

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
  auto latencies = latencies_by_sm(session, chip_map_lines, chip_map_repetitions);
  if (!latencies) return tl::unexpected<Error>(latencies.error());
  const Correlations r(beyond_nearest(*latencies));
  const Estimate* partitions = findings.memory("l2").find("partitions");
  const SmSets sides = opposite_sides(r, static_cast<std::size_t>(partitions->value.value()));
  if (sides.size() == 1) return {};
  findings.place_sms(sides);
  session.keep(sides_curve(r, sides));
  findings.memory("l2").attributes["partition_separation"] =
      measured(separation(r, sides), "", chip_map_method, chip_map_lines * sms);
  return {};
}

}  // namespace gputopo::experiments
