// The size by the thesis's own statistics (Größler 2022, section 3.3): latencies of every footprint around the
// capacity, geometric mapping, optimal split, Kolmogorov-Smirnov test. Its sweep steps by the line; nothing is counted.
#include <algorithm>

#include "evidence/inference/estimates.hpp"
#include "evidence/looks/footprint.hpp"
#include "evidence/traces/traces.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {

using namespace evidence;

Expected<Estimate> size_by_thesis(Session& session, const CacheFacts& cache) {
  constexpr std::uint64_t rows = 64;
  const std::uint64_t step =
      std::max(cache.stride(), cache.capacity_bytes / 2 / rows / cache.stride() * cache.stride());
  FootprintSpec spec;
  spec.path = cache.path;
  spec.stride_bytes = cache.stride();
  program::Batch batch;
  std::vector<std::uint64_t> footprints;
  for (std::uint64_t bytes = cache.capacity_bytes * 3 / 4 / step * step; footprints.size() < rows; bytes += step) {
    if (bytes == 0) continue;
    footprints.push_back(bytes);
    batch.push_back(footprint_program(session.info(), spec, bytes));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  change_point::Trace trace;
  for (std::size_t i = 0; i < footprints.size(); ++i)
    trace.rows.push_back({static_cast<double>(footprints[i]), values(recorded_histogram((*traces)[i]))});
  TraceOptions options;
  options.seed = session.settings().seed;
  Estimate e = find_size_by_thesis(trace, options);
  return e.status == Status::measured ? e : inconclusive("B", e.method, e.note);
}

}  // namespace gputopo::experiments
