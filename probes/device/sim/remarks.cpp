#include <fmt/format.h>

#include "device/sim/distance.hpp"
#include "device/sim/model.hpp"

namespace gputopo::sim {
namespace {

// "640 to 2600", or one number.
std::string text_of(const Span& span) {
  return span.low == span.high ? fmt::format("{}", span.low) : fmt::format("{} to {}", span.low, span.high);
}

void remark_disturbances(const Model& m, std::vector<std::string>& notes) {
  if (m.noise.outlier_probability > 0)
    notes.push_back(fmt::format("strangers: {} % of the loads take {} cycles more", 100 * m.noise.outlier_probability,
                                text_of(m.noise.outlier_cycles)));
  if (m.neighbour)
    notes.push_back(fmt::format("neighbour: away for {} us after every {} us; fills {} % of the L2 meanwhile",
                                text_of(m.neighbour->away_us), text_of(m.neighbour->slice_us),
                                100 * m.neighbour->memory_share));
  if (m.tenant)
    notes.push_back(fmt::format(
        "tenant: brings {} lines a us into the L2, {} into an SM's caches; {} % of the loads that leave the SM wait {} "
        "cycles",
        m.tenant->lines_per_us, m.tenant->private_lines_per_us, 100 * m.tenant->slow_share,
        text_of(m.tenant->slow_cycles)));
  for (const ClockStep& step : m.clock_steps)
    notes.push_back(fmt::format("clock: {} kHz from {} us on", step.clock_khz, step.at_us));
}

}  // namespace

std::vector<std::string> remarks(const Model& m) {
  std::vector<std::string> notes;
  const PathModel& path = *m.path(program::Path::global_l2_only);
  for (std::size_t i = 1; i < path.size(); ++i)
    if (path[i].cache)
      notes.push_back(fmt::format("behind the L2: {} of {} B at {} cycles", m.caches[*path[i].cache].name,
                                  usable_bytes(m.caches[*path[i].cache], 0), path[i].latency_cycles));
  for (const TlbModel& t : m.tlbs)
    notes.push_back(
        fmt::format("TLB {}: reaches {} B, a miss takes {} cycles", t.name, t.page_bytes * t.entries, t.miss_cycles));
  if (const double most = largest_distance_cycles(m.distance); most > 0)
    notes.push_back(
        fmt::format("distance: latencies beyond the SMs lie up to {} cycles either side of their mean", most));
  if (m.rows)
    notes.push_back(fmt::format("rows of {} B, one open in each of {} banks: a load from one takes {} cycles less",
                                m.rows->size_bytes, m.rows->banks, m.rows->gain_cycles));
  if (m.refresh)
    notes.push_back(fmt::format("refresh: memory is busy for {} of every {} cycles", m.refresh->busy_cycles,
                                m.refresh->period_cycles));
  if (m.tick_cycles != 0) notes.push_back(fmt::format("tick: loads leave an SM every {} cycles", m.tick_cycles));
  remark_disturbances(m, notes);
  return notes;
}

}  // namespace gputopo::sim
