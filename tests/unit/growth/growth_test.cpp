// What reads or computes on other people's files takes time in proportion to them: twice the input, at most 2.3 times
// the work.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "change_point/kolmogorov_smirnov.hpp"
#include "change_point/mixture.hpp"
#include "change_point/pelt.hpp"
#include "change_point/random.hpp"
#include "change_point/split.hpp"
#include "change_point/split_test.hpp"
#include "change_point/trace_check.hpp"
#include "change_point/trace_parser.hpp"
#include "compare/comparison.hpp"
#include "counted_work.h"
#include "device/replay/recording.hpp"
#include "device/sim/model.hpp"
#include "evidence/chip/sm_clusters.hpp"
#include "evidence/inference/capacity.hpp"
#include "evidence/traces/trace_levels.hpp"
#include "evidence/traces/traces.hpp"
#include "exchange/prometheus.hpp"
#include "hwloc_export/export.hpp"
#include "hwloc_export/tree.hpp"
#include "report/report.hpp"
#include "store/merge.hpp"
#include "topology/check.hpp"
#include "topology/json.hpp"

namespace gputopo {
namespace {

/// `make(n)` prepares work on an input of size n; tried from half of `size` to four times as much. Twice the input may
/// take 2.3 times the work, by the geometric mean of the three doublings.
void expect_growth_in_proportion(std::size_t size, const std::function<std::function<void()>(std::size_t)>& make) {
  const auto blocks_of = [](const std::function<void()>& work) {
    const std::uint64_t begin = gputopo_blocks_run();
    work();
    return static_cast<double>(gputopo_blocks_run() - begin);
  };
  const double least = blocks_of(make(size / 2));
  const double most = blocks_of(make(4 * size));
  EXPECT_GT(least, static_cast<double>(size) / 50) << "not counted";
  EXPECT_LE(std::cbrt(most / least), 2.3) << "times the work for twice the input, from " << size / 2 << " on";
}

change_point::Trace trace_of(std::size_t rows, std::size_t loads, const std::function<double(double)>& share) {
  change_point::Random random(3);
  change_point::Trace trace;
  for (std::size_t i = 1; i <= rows; ++i) {
    change_point::Row& row = trace.rows.emplace_back();
    row.control = static_cast<double>(32 * i);
    const double misses = share(static_cast<double>(i) / static_cast<double>(rows));
    for (std::size_t k = 0; k < loads; ++k) row.values.push_back(random.uniform() < misses ? 240 : 40);
  }
  return trace;
}

// 40 % more than in proportion for twice the input.
std::function<void()> work_by_the_power_of_one_and_a_half(std::size_t size) {
  return [size] {
    volatile std::size_t sum = 0;
    for (std::size_t i = 0, steps = size * static_cast<std::size_t>(std::sqrt(size)); i < steps; ++i) sum = sum + i;
  };
}

TEST(Growth, FasterThanInProportionIsTold) {
  EXPECT_NONFATAL_FAILURE(expect_growth_in_proportion(2000, work_by_the_power_of_one_and_a_half), "twice the input");
}

TEST(Growth, OfTracesByTheirRows) {
  expect_growth_in_proportion(20000, [](std::size_t rows) {
    std::string text;
    for (std::size_t i = 1; i <= rows; ++i) text += fmt::format("{},40,41,240,40.5\n", 32 * i);
    return [text] {
      change_point::TraceParser parser(change_point::Columns::control);
      EXPECT_FALSE(parser.feed(text));
      EXPECT_FALSE(parser.finish());
    };
  });
}

TEST(Growth, OfASizeByTheRows) {
  const auto step = [](double at) { return at < 0.5 ? 0.0 : 0.9; };
  const auto noise = [](double) { return 0.3; };
  for (const auto& share : std::vector<std::function<double(double)>>{step, noise})
    expect_growth_in_proportion(
        2000, [&](std::size_t rows) { return [trace = trace_of(rows, 8, share)] { evidence::find_size(trace); }; });
}

TEST(Growth, OfASizeByTheThesisByTheRows) {
  evidence::TraceOptions options;
  options.method = evidence::TraceOptions::Method::thesis;
  expect_growth_in_proportion(2000, [&](std::size_t rows) {
    return [options, trace = trace_of(rows, 8, [](double at) { return at < 0.5 ? 0.0 : 0.9; })] {
      evidence::find_size(trace, options);
    };
  });
}

TEST(Growth, OfSeveralChangesByTheSeries) {
  expect_growth_in_proportion(4000, [](std::size_t size) {
    // A change every 50 values: with more data come more changes.
    change_point::Random random(3);
    std::vector<double> series(size);
    for (std::size_t i = 0; i < size; ++i) series[i] = random.normal() + static_cast<double>(i / 50 % 7) * 30;
    return [series] {
      const change_point::SegmentCost cost(series, change_point::Cost::l2);
      const double penalty = change_point::bic_penalty(change_point::Cost::l2, series.size(), 1);
      EXPECT_GT(change_point::pelt(cost, penalty).first_after.size(), 10U);
    };
  });
}

TEST(Growth, OfACapacityByTheFootprints) {
  expect_growth_in_proportion(8000, [](std::size_t rows) {
    evidence::Counts counts;
    for (std::uint64_t i = 1; i <= rows; ++i)
      counts.push_back({128.0 * static_cast<double>(i), i, i > rows / 2 ? i * 9 / 10 : 0, 0});
    return [counts] {
      evidence::Sweep sweep;
      sweep.line_bytes = 128;
      sweep.contamination = {1e-4, 1e-4, 5000};
      EXPECT_LT(evidence::capacity_posterior(counts, sweep).none_fits, 0.1);
    };
  });
}

std::vector<double> series_of(std::size_t size) {
  change_point::Random random(3);
  std::vector<double> series(size);
  for (std::size_t i = 0; i < size; ++i) series[i] = random.normal() + (i < size / 2 ? 0 : 3);
  return series;
}

TEST(Growth, OfASplitByTheSeries) {
  for (const auto cost : {change_point::Cost::l2, change_point::Cost::normal, change_point::Cost::rank})
    expect_growth_in_proportion(20000, [&](std::size_t size) {
      return [cost, series = series_of(size)] {
        EXPECT_TRUE(change_point::best_split(change_point::SegmentCost(series, cost)));
      };
    });
}

TEST(Growth, OfATestedSplitByTheSeries) {
  expect_growth_in_proportion(4000, [](std::size_t size) {
    return [series = series_of(size)] { change_point::test_best_split(series, change_point::Cost::l2, 1); };
  });
}

TEST(Growth, OfADistributionsDistanceByItsValues) {
  expect_growth_in_proportion(20000, [](std::size_t size) {
    return [series = series_of(size)] {
      const std::span<const double> all(series);
      EXPECT_GT(change_point::ks_statistic(all.first(all.size() / 2), all.last(all.size() / 2)), 0.5);
    };
  });
}

TEST(Growth, OfAMixtureByItsBins) {
  expect_growth_in_proportion(1000, [](std::size_t bins) {
    std::vector<change_point::Bin> histogram(bins);
    for (std::size_t i = 0; i < bins; ++i)
      histogram[i] = {static_cast<double>(30 + i), i % (bins / 4) < bins / 40 ? 1000U : 1U};
    return [histogram] { EXPECT_FALSE(change_point::fit_mixture(histogram, 3).empty()); };
  });
}

TEST(Growth, OfBoundariesByTheRows) {
  expect_growth_in_proportion(4000, [](std::size_t rows) {
    return [trace = trace_of(rows, 8, [](double at) { return at < 0.5 ? 0.0 : 0.9; })] {
      EXPECT_FALSE(evidence::separations(trace).empty());
    };
  });
}

TEST(Growth, OfTidyingByTheRows) {
  expect_growth_in_proportion(10000, [](std::size_t rows) {
    auto trace = trace_of(rows, 4, [](double) { return 0.1; });
    std::reverse(trace.rows.begin(), trace.rows.end());
    return [trace] { EXPECT_EQ(change_point::tidied(trace).rows.size(), trace.rows.size()); };
  });
}

TEST(Growth, OfAFetchGranularityByTheStrides) {
  expect_growth_in_proportion(2000, [](std::size_t strides) {
    const auto trace = trace_of(strides, 8, [](double at) { return std::min(1.0, 4 * at); });
    return [trace] { evidence::find_fetch_granularity(trace); };
  });
}

TEST(Growth, OfALatencyByTheLoads) {
  expect_growth_in_proportion(50000, [](std::size_t loads) {
    return [trace = trace_of(loads / 100, 100, [](double) { return 0.1; })] { evidence::find_latency(trace); };
  });
}

TEST(Growth, OfALineSizeByTheRows) {
  expect_growth_in_proportion(500, [](std::size_t rows) {
    std::vector<change_point::StrideSweep> sweeps;
    for (double stride = 32; stride <= 256; stride *= 2)
      sweeps.push_back({stride, trace_of(rows, 8, [](double at) { return at < 0.5 ? 0.0 : 0.9; })});
    return [sweeps] { evidence::find_line_size(sweeps); };
  });
}

TEST(Growth, OfSidesByThePairsOfSms) {
  change_point::Random random(3);
  const auto rows_of = [&](double pairs) {
    std::vector<std::vector<double>> rows(static_cast<std::size_t>(std::sqrt(pairs)), std::vector<double>(16));
    for (auto& row : rows)
      for (double& value : row) value = random.normal();
    return rows;
  };
  expect_growth_in_proportion(400 * 400, [&](std::size_t pairs) {
    return [rows = rows_of(static_cast<double>(pairs))] { evidence::opposite_sides(evidence::Correlations(rows), 2); };
  });
}

TEST(Growth, OfARecordingByItsRuns) {
  expect_growth_in_proportion(2000, [](std::size_t runs) {
    replay::Recording recording;
    for (std::size_t i = 0; i < runs; ++i) {
      program::PhaseTrace phase;
      phase.loads = 64;
      for (std::uint32_t k = 0; k < 64; ++k) phase.latencies.push_back(40 + k * k % 7);
      recording.runs.push_back({i, "chase", {{phase}, {1}, {}}});
    }
    return [text = to_text(recording)] { EXPECT_TRUE(replay::parse_recording(text)); };
  });
}

TEST(Growth, OfARecordingsTextByItsRuns) {
  expect_growth_in_proportion(2000, [](std::size_t runs) {
    replay::Recording recording;
    for (std::size_t i = 0; i < runs; ++i) {
      program::PhaseTrace phase;
      phase.loads = 64;
      for (std::uint32_t k = 0; k < 64; ++k) phase.latencies.push_back(40 + k * k % 7);
      recording.runs.push_back({i, "chase", {{phase}, {1}, {}}});
    }
    return [recording] { EXPECT_FALSE(to_text(recording).empty()); };
  });
}

TEST(Growth, OfAModelByItsSms) {
  const auto text =
      std::string(R"({"schema": "gputopo-model/1", "gpu": {"name": "X", "sm_count": {}, "memory": "4 GiB"},
    "groups": {"tpc": 2, "gpc": 16},
    "caches": {"l1": {"size": "16 KiB", "line": 128}, "l2": {"size": "1 MiB", "line": 128, "scope": "gpu"}},
    "paths": {"global_cached": [{"level": "l1", "latency": 30}, {"level": "l2", "latency": 200}, {"level": "device_memory", "latency": 500}],
              "global_l2_only": [{"level": "l2", "latency": 200}, {"level": "device_memory", "latency": 500}]}})");
  expect_growth_in_proportion(1000, [&](std::size_t sms) {
    std::string model = text;
    model.replace(model.find("{}"), 2, std::to_string(sms));
    return [model] {
      const auto parsed = sim::parse_model(model, "x");
      ASSERT_TRUE(parsed) << parsed.error().message;
      EXPECT_FALSE(sim::truth(*parsed).memories.empty());
    };
  });
}

/// Caches of caches, each in the one before; `joined`: all one physical cache as well.
Topology nested(std::size_t memories, bool joined) {
  Topology t;
  t.gpu.name = "X";
  t.gpu.sm_count = 4;
  for (std::size_t i = 0; i < memories; ++i) {
    Memory& m = t.memories.emplace_back();
    m.id = fmt::format("m{}", i);
    m.label = m.id;
    m.scope = Scope::sm;
    m.instances_per_scope = 1;
    if (i > 0) m.parent = fmt::format("m{}", i - 1);
    if (joined) m.physical_cache = "m0";
    Estimate& size = m.attributes["size"];
    size.value = 1024;
    size.unit = "B";
    size.status = Status::measured;
    for (std::uint64_t percent = 0; percent <= 100; percent += 10) m.carve_outs.push_back({percent, size, size, size});
  }
  return t;
}

// As the component does it: objects into a loaded topology.
void annotate(const Topology& gpu) {
  hwloc_topology_t topology = nullptr;
  ASSERT_EQ(hwloc_topology_init(&topology), 0);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_synthetic(topology, "numa:1 core:1 pu:1");
  ASSERT_EQ(hwloc_topology_load(topology), 0);
  const auto done = hwloc_export::annotate(topology, gpu, {"", 0, hwloc_get_root_obj(topology)});
  EXPECT_TRUE(done) << done.error().message;
  hwloc_topology_destroy(topology);
}

TEST(Growth, OfATopologyByItsMemories) {
  for (const bool joined : {false, true}) {
    const std::vector<std::pair<const char*, std::function<void(const Topology&)>>> uses{
        {"read", [](const Topology& t) { EXPECT_TRUE(parse_topology(to_json_text(t))); }},
        {"check", [](const Topology& t) { EXPECT_TRUE(check(t)) << check(t).error().message; }},
        {"hwloc",
         [](const Topology& t) {
           EXPECT_FALSE(hwloc_export::build_tree(t, {"cuda0", "", ""}).empty());
         }},
        {"annotate", annotate},
        {"compare",
         [](const Topology& t) {
           const std::vector<Topology> both{t, t};
           EXPECT_TRUE(compare::compare(both, {}));
         }},
        {"prometheus",
         [](const Topology& t) {
           EXPECT_FALSE(exchange::prometheus_text(std::vector<Topology>{t}).value_or("").empty());
         }},
        {"merge",
         [](const Topology& t) { EXPECT_EQ(store::merge(t, t, false).topology.memories.size(), t.memories.size()); }}};
    for (const auto& [what, use] : uses) {
      SCOPED_TRACE(fmt::format("{}, {}", what, joined ? "joined" : "nested"));
      expect_growth_in_proportion(64, [&use = use, joined](std::size_t memories) {
        return [&use, topology = nested(memories, joined)] { use(topology); };
      });
    }
  }
}

TEST(Growth, OfAReportByItsMemories) {
  for (const report::Format& format : report::formats()) {
    SCOPED_TRACE(format.name);
    expect_growth_in_proportion(100, [&](std::size_t memories) {
      report::Options options;
      options.all = true;
      return [&format, options, topology = nested(memories, false)] { format.render({&topology, 1}, options); };
    });
  }
}

}  // namespace
}  // namespace gputopo
