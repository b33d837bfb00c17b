// Where a whole discovery's time goes: medians of provenance.breakdown_s over repeated runs, on the first GPU or, where
// there is none, on a simulated Quadro P6000 (small enough to repeat).
#include <map>

#include <benchmark/benchmark.h>

#include "device/open/open.hpp"
#include "evidence/inference/histogram.hpp"
#include "experiments/discover.hpp"

namespace gputopo {
namespace {

Expected<device::Opened> open_first() {
  const auto list = device::list_devices();
  const auto spec = device::parse_spec(list.real.empty() ? "sim:p6000" : list.real.front().spec);
  if (!spec) return tl::unexpected<Error>(spec.error());
  return device::open(*spec);
}

void BM_Discover(benchmark::State& state) {
  auto opened = open_first();
  if (!opened) {
    state.SkipWithError(opened.error().message.c_str());
    return;
  }
  std::map<std::string, std::vector<double>> parts;
  for (auto _ : state) {
    auto topology = experiments::discover(*opened->device, {});
    if (!topology) {
      state.SkipWithError(topology.error().message.c_str());
      return;
    }
    for (const auto& [what, seconds] : topology->provenance.breakdown_s) parts[what].push_back(seconds);
  }
  state.SetLabel(opened->headline);
  for (const auto& [what, seconds] : parts) state.counters[what + "_ms"] = 1e3 * evidence::median(seconds);
}
BENCHMARK(BM_Discover)->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
}  // namespace gputopo

BENCHMARK_MAIN();
