#include "experiments/crosscheck/counted.hpp"

#include <fmt/format.h>

namespace gputopo::experiments {
namespace {

// Ends the counting wherever it is left.
class Counting {
 public:
  explicit Counting(counters::Counter& counter) : counter_(counter) {}
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  ~Counting() {
    if (in_stretch_) static_cast<void>(counter_.end_stretch());
    if (counting_) static_cast<void>(counter_.stop());
  }

  Expected<void> start(const counters::Metrics& metrics, std::size_t stretches) {
    auto ok = counter_.start(metrics, stretches);
    counting_ = ok.has_value();
    return ok;
  }

  Expected<std::vector<program::ProgramTrace>> run(Session& session, const program::Batch& launch) {
    if (auto ok = counter_.begin_stretch(); !ok) return tl::unexpected<Error>(ok.error());
    in_stretch_ = true;
    auto traces = session.run(launch);
    in_stretch_ = false;
    auto ended = counter_.end_stretch();
    if (traces && !ended) return tl::unexpected<Error>(ended.error());
    return traces;
  }

  Expected<std::vector<counters::Values>> stop() {
    counting_ = false;
    return counter_.stop();
  }

 private:
  counters::Counter& counter_;
  bool counting_ = false;
  bool in_stretch_ = false;
};

}  // namespace

Expected<std::vector<CountedRun>> run_counted(Session& session, counters::Counter& counter,
                                              const counters::Metrics& metrics, const std::vector<PlannedCheck>& plan) {
  Counting counting(counter);
  if (auto ok = counting.start(metrics, plan.size()); !ok) return tl::unexpected<Error>(ok.error());
  std::vector<CountedRun> runs;
  for (const PlannedCheck& planned : plan) {
    if (!planned.before.empty())
      if (auto traces = session.run(planned.before); !traces) return tl::unexpected<Error>(traces.error());
    auto traces = counting.run(session, planned.launch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    runs.push_back({std::move(*traces), {}});
  }
  auto values = counting.stop();
  if (!values) return tl::unexpected<Error>(values.error());
  if (values->size() != runs.size())
    return fail(Error::Kind::device,
                fmt::format("{} stretches were counted, not the {} of '{}' and its like; try again", values->size(),
                            runs.size(), plan.front().launch.front().label));
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].values = std::move((*values)[i]);
  return runs;
}

}  // namespace gputopo::experiments
