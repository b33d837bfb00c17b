// On which slice of the L2 does a line lie? As far as its distance tells: lines of one slice are as far from every SM,
// of different ones nearly always not. Slices in one place can't be told apart so, hence a lower bound.
#include <fmt/format.h>

#include "evidence/chip/slice_map.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view fingerprints_method = "latency_fingerprints";
DecidingCurve curve_of(const SliceMap& map) {
  const SlicePlaces& places = map.places;
  DecidingCurve curve = make_curve("l2", "slices", {"bytes from a page's begin", "B", false},
                                   {"place of the line's slice, in the order in which they come", "", false});
  Series& series = curve.series.emplace_back(Series{fmt::format("lines of {} B", map.line_bytes), {}});
  for (std::size_t line = 0; line < places.of_line.size(); ++line)
    if (places.of_line[line] < places.count)
      series.points.emplace_back(static_cast<double>(line * map.line_bytes), static_cast<double>(places.of_line[line]));
  return curve;
}

}  // namespace

Expected<void> measure_l2_slices(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Estimate& slices = findings.memory("l2").attributes["slices"];
  const auto open = [&](std::string_view why) {
    slices = inconclusive("", fingerprints_method, why);
    return Expected<void>();
  };
  if (findings.others_fill_l2) return open("another program fills the L2");
  if (!findings.l2_sets || !findings.l2_sets->why_open.empty())
    return open("which SMs share an L2, or a side of it, isn't known");
  const std::uint64_t line_bytes = l2->line_bytes != 0 ? l2->line_bytes : 128;
  const auto map = map_slices(session, *findings.l2_sets, line_bytes);
  if (!map) return tl::unexpected<Error>(map.error());
  session.keep(curve_of(*map));
  if (!map->places.why_open.empty()) return open(map->places.why_open);
  slices = measured(static_cast<double>(map->places.count), "", fingerprints_method, map->samples);
  slices.status = Status::lower_bound;
  slices.note =
      fmt::format("so many places, as far from {} SMs{}; slices in one place, or as far from all, count as one",
                  map->sms.size(), findings.l2_sets->sets.size() > 1 ? " of one side" : "");
  return {};
}

}  // namespace gputopo::experiments
