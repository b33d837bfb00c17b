#include "experiments/crosscheck/slices.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "counters/metrics.hpp"
#include "throughput/l2_slices.hpp"

namespace gputopo::experiments {
namespace {

Expected<counters::Values> counted(throughput::Meter& meter, counters::Counter& counter,
                                   const counters::Metrics& metrics, const program::Workload& workload) {
  if (auto ok = counter.start(metrics, 1); !ok) return tl::unexpected<Error>(ok.error());
  auto begun = counter.begin_stretch();
  const auto ran = meter.run(workload);
  auto ended = counter.end_stretch();
  auto values = counter.stop();
  if (!begun) return tl::unexpected<Error>(begun.error());
  if (!ran) return tl::unexpected<Error>(ran.error());
  if (!ended) return tl::unexpected<Error>(ended.error());
  if (!values) return tl::unexpected<Error>(values.error());
  if (values->size() != 1)
    return fail(Error::Kind::device,
                fmt::format("{} stretches of '{}' were counted, not one; try again", values->size(), workload.label));
  return std::move(values->front());
}

CrossCheck entry_of(std::string_view kind, const std::string& metric, double by_timing, double by_counter) {
  constexpr double rounding = 0.005;  // of a slice: a quotient of counts
  const bool is_equal = std::fabs(by_timing - by_counter) < rounding;
  return {"l2",
          fmt::format("{}{}", kind, metric),
          0,
          0,
          by_timing,
          by_counter,
          std::string(is_equal ? verdict_equal : verdict_differs),
          0};
}

}  // namespace

Expected<void> check_slices(evidence::Session& session, counters::Counter& counter, CrossCheckReport& report) {
  const auto unchecked = [&](const std::string& why) {
    report.notes.push_back("l2: its slices weren't checked against counters: " + why);
    return Expected<void>();
  };
  throughput::Meter meter(session.device(), session.settings().stop);
  const auto found = throughput::find_slices(meter, session.settings().seed, 0);
  if (!found && throughput::leaves_open(found.error())) return unchecked(found.error().message);
  if (!found) return tl::unexpected<Error>(found.error());
  if (!found->why_open.empty()) return unchecked(found->why_open);
  const std::string atomics(counters::slice_atomics);
  const counters::Metrics metrics{atomics + ".sum", atomics + ".max", atomics + ".avg"};
  const auto values = counted(meter, counter, metrics, throughput::adding_to(session.info(), found->line_of));
  if (!values) return tl::unexpected<Error>(values.error());
  const double all = (*values)[0], busiest = (*values)[1], mean = (*values)[2];
  if (busiest <= 0 || mean <= 0) return unchecked("no atomics were counted");
  const auto slices = static_cast<double>(found->line_of.size());
  report.entries.push_back(entry_of(check_of_slices, metrics[1], slices, all / busiest));
  report.entries.push_back(entry_of(check_of_slice_count, metrics[2], slices, all / mean));
  return {};
}

}  // namespace gputopo::experiments
