// On which slice of the L2 does a line lie? Atomics are carried out there, one after another: lines of one slice share
// its time, those of different ones don't.
#include "throughput/l2_slices.hpp"

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view slices_method = "atomic_contention";
constexpr std::uint64_t mapped_lines = 512;

DecidingCurve map_of(const throughput::Slices& found) {
  DecidingCurve curve = make_curve("l2", "slices", {"bytes from a page's begin", "B", false},
                                   {"the line's slice, in the order in which they were found", "", false});
  Series& series = curve.series.emplace_back(Series{fmt::format("lines of {} B", throughput::sliced_line_bytes), {}});
  for (std::size_t line = 0; line < found.of_line.size(); ++line)
    if (found.of_line[line] < found.line_of.size())
      series.points.emplace_back(static_cast<double>(line * throughput::sliced_line_bytes),
                                 static_cast<double>(found.of_line[line]));
  return curve;
}

}  // namespace

Expected<void> measure_l2_slices(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache("l2");
  if (l2 == nullptr || !l2->present) return {};
  Estimate& slices = findings.memory("l2").attributes["slices"];
  throughput::Meter meter(session.device(), session.settings().stop);
  const auto found = throughput::find_slices(meter, session.settings().seed, mapped_lines);
  if (!found && throughput::leaves_open(found.error())) {
    slices = inconclusive("", slices_method, found.error().message);
    return {};
  }
  if (!found) return tl::unexpected<Error>(found.error());
  if (!found->why_open.empty()) {
    slices = inconclusive("", slices_method, found->why_open, found->drawn);
    return {};
  }
  session.keep(map_of(*found));
  const auto count = static_cast<double>(found->line_of.size());
  slices = measured(count, "", slices_method, found->drawn);
  slices.interval = Interval{count, count};
  slices.confidence = 1 - found->chance_of_more;
  slices.note =
      fmt::format("of all SMs' additions each carries out its own lines' one after another; of {} lines", found->drawn);
  return {};
}

}  // namespace gputopo::experiments
