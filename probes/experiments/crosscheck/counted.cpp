#include "experiments/crosscheck/counted.hpp"

#include <fmt/format.h>

namespace gputopo::experiments {
namespace {

// A program whose block came to lie on another SM is launched again, which makes one launch more than programs.
constexpr int attempts = 4;

Expected<std::vector<CountedRun>> run_once(Session& session, counters::Counter& counter,
                                           const counters::Metrics& metrics, const program::Batch& programs) {
  std::vector<CountedRun> runs;
  if (auto ok = counter.start(metrics, 2 * programs.size()); !ok) return tl::unexpected<Error>(ok.error());
  for (const program::Program& program : programs) {
    auto traces = session.run({program});
    if (!traces) {
      static_cast<void>(counter.stop());
      return tl::unexpected<Error>(traces.error());
    }
    runs.push_back({std::move(traces->front()), {}});
  }
  auto values = counter.stop();
  if (!values) return tl::unexpected<Error>(values.error());
  if (values->size() != programs.size()) return std::vector<CountedRun>();
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].values = std::move((*values)[i]);
  return runs;
}

}  // namespace

Expected<std::vector<CountedRun>> run_counted(Session& session, counters::Counter& counter,
                                              const counters::Metrics& metrics, const program::Batch& programs) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    auto runs = run_once(session, counter, metrics, programs);
    if (!runs || runs->size() == programs.size()) return runs;
  }
  return fail(Error::Kind::device,
              fmt::format("the counters saw another number of launches than the {} that '{}' and its like took; is "
                          "another process using the GPU?",
                          programs.size(), programs.front().label));
}

}  // namespace gputopo::experiments
