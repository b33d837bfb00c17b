// Speed of the statistics: a 1000 x 1000 trace, growth to 10,000 rows, and the parser on 50 MB.
#include <string>

#include <benchmark/benchmark.h>

#include "change_point/random.hpp"
#include "change_point/trace_parser.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::evidence {
namespace {

using namespace change_point;

// Hits around 38, misses around 270 on a growing share of loads after 60 % of the rows, an outlier in 10,000.
Trace noisy_step(std::size_t rows, std::size_t loads) {
  Random random(1);
  Trace trace;
  for (std::size_t i = 0; i < rows; ++i) {
    Row& row = trace.rows.emplace_back();
    row.control = 131072 + 128 * static_cast<double>(i);
    const double share = i <= rows * 6 / 10 ? 0 : static_cast<double>(i - rows * 6 / 10) / static_cast<double>(rows);
    for (std::size_t load = 0; load < loads; ++load) {
      double cycles = random.uniform() < share ? 260 + 20 * random.uniform() : 38 + random.uniform();
      cycles += random.uniform() < 1e-4 ? 500 : 0;
      row.values.push_back(static_cast<double>(static_cast<int>(cycles)));
    }
  }
  return trace;
}

void BM_FindSize(benchmark::State& state) {
  const Trace trace = noisy_step(static_cast<std::size_t>(state.range(0)), 1000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(find_size(trace, {}));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_FindSize)->Arg(1000)->Arg(2000)->Arg(5000)->Arg(10000)->Unit(benchmark::kMillisecond)->Complexity();

void BM_FindSizeByThesis(benchmark::State& state) {
  const Trace trace = noisy_step(static_cast<std::size_t>(state.range(0)), 1000);
  TraceOptions options;
  options.method = TraceOptions::Method::thesis;
  for (auto _ : state) {
    benchmark::DoNotOptimize(find_size(trace, options));
  }
}
BENCHMARK(BM_FindSizeByThesis)->Arg(1000)->Unit(benchmark::kMillisecond);

void BM_Parse50Megabytes(benchmark::State& state) {
  std::string text;
  for (const Row& row : noisy_step(15000, 1000).rows) {
    text += std::to_string(static_cast<int>(row.control));
    for (const double value : row.values) {
      text += ',' + std::to_string(static_cast<int>(value));
    }
    text += '\n';
    if (text.size() >= 50'000'000) {
      break;
    }
  }
  for (auto _ : state) {
    TraceParser parser(Columns::control);
    constexpr std::size_t piece = 1 << 20;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      benchmark::DoNotOptimize(parser.feed(std::string_view(text).substr(at, piece)));
    }
    benchmark::DoNotOptimize(parser.finish());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}
BENCHMARK(BM_Parse50Megabytes)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gputopo::evidence

BENCHMARK_MAIN();
