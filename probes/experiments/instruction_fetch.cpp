#include "experiments/instruction_fetch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/inference/histogram.hpp"
#include "evidence/inference/levels.hpp"
#include "evidence/looks/walks.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view fetch_method = "straight_line";
constexpr std::size_t fetch_footprints = 7, fetch_times = 3;
constexpr std::uint64_t fetch_laps = 9;

// Code of so many units, until each cache holds what it will, and then unit by unit.
program::Program running(const device::DeviceInfo& info, std::uint64_t units) {
  constexpr std::uint32_t warm_laps = 4;
  const std::uint64_t bytes = units * info.execute_unit_bytes;
  program::Program p;
  p.label = fmt::format("code in a row {} B", bytes);
  p.isolation = Scope::gpu;
  p.phases = {program::Execute{0, bytes, warm_laps, false}, program::Execute{0, bytes, fetch_laps, true}};
  return p;
}

// Lengths of code in units, two at least: what runs between two is a part of all code but of one by itself. From half
// as much again as what lies in front loses, where its last sets overflow if they go by age and have two ways, to the
// middle of what is left: towards the end the kernel's own code has a part in it.
std::vector<std::uint64_t> lengths_of(const FetchLevel& level, const device::DeviceInfo& info) {
  const std::uint64_t unit = info.execute_unit_bytes;
  const std::uint64_t end =
      std::min({level.to_bytes, info.execute_limit_bytes, info.largest_recording / fetch_laps * unit});
  const std::uint64_t begin = level.from_bytes + level.from_bytes / 2;
  std::set<std::uint64_t> lengths;
  for (std::uint64_t i = 0; i < fetch_footprints && begin < end; ++i) {
    const std::uint64_t bytes = begin + (end - begin) / 2 * i / (fetch_footprints - 1);
    const std::uint64_t units = std::max<std::uint64_t>(2, (bytes + unit - 1) / unit);
    if (units * unit <= end) lengths.insert(units);
  }
  return {lengths.begin(), lengths.end()};
}

// What a lap takes. Units differ, since a fetch may bring in several; but each is alike in each lap, but for what else
// waits, or is waited for: of each the median counts.
double lap_cycles(std::span<const program::ProgramTrace> runs, std::uint64_t units) {
  double cycles = 0;
  for (std::uint64_t unit = 0; unit < units; ++unit) {
    std::vector<double> laps;
    for (const program::ProgramTrace& run : runs)
      for (std::uint64_t lap = 0; lap < fetch_laps; ++lap)
        laps.push_back(run.phases.back().latencies.at(lap * units + unit));
    cycles += median(std::move(laps));
  }
  return std::max(1.0, cycles);
}

// B/cycle by length of code.
struct Rates {
  std::vector<std::pair<double, double>> by_bytes;
  std::uint64_t samples = 0;

  // Ascending.
  std::vector<double> sorted() const {
    std::vector<double> rates;
    for (const auto& [bytes, rate] : by_bytes) rates.push_back(rate);
    std::sort(rates.begin(), rates.end());
    return rates;
  }

  // Of what one length takes beyond a shorter one, the middle of all pairs (Theil and Sen): another rate where a lap
  // loses some whatever its length. Nothing of one length.
  std::optional<double> beyond() const {
    std::vector<double> all;
    for (auto longer = by_bytes.begin(); longer != by_bytes.end(); ++longer)
      for (auto shorter = by_bytes.begin(); shorter != longer; ++shorter)
        all.push_back((longer->first - shorter->first) /
                      std::max(1.0, longer->first / longer->second - shorter->first / shorter->second));
    return all.empty() ? std::nullopt : std::optional(median(std::move(all)));
  }
};

Expected<Rates> measure_rates(Session& session, const FetchLevel& level) {
  const std::vector<std::uint64_t> lengths = lengths_of(level, session.info());
  program::Batch batch;
  for (const std::uint64_t units : lengths) batch.insert(batch.end(), fetch_times, running(session.info(), units));
  Rates rates;
  if (batch.empty()) return rates;
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::span runs = std::span(*traces).subspan(i * fetch_times, fetch_times);
    const auto bytes = static_cast<double>(lengths[i] * session.info().execute_unit_bytes);
    rates.by_bytes.emplace_back(bytes, bytes / lap_cycles(runs, lengths[i]));
    rates.samples += fetch_times * fetch_laps * lengths[i];
  }
  return rates;
}

// Of sorted rates, in a setting that `note` tells; `fastest` is what any code reaches.
Estimate served(const std::vector<double>& sorted, std::uint64_t samples, double fastest, std::string_view note) {
  Estimate e = measured(median(sorted), "B/cycle", fetch_method, samples);
  e.interval = Interval{sorted.front(), sorted.back()};
  e.interval_kind = "range";
  e.note = note;
  if (*e.value * least_ratio >= fastest) bound_below(e, "no code runs faster: nothing waits for what comes from here");
  return e;
}

// Of the `each` that the rates stand for, in a setting that `note` tells.
Estimate rate_of(const Rates& rates, const std::vector<double>& each, double fastest, std::string_view note) {
  const std::vector<double> sorted = rates.sorted();
  const auto beyond = rates.beyond();
  if (!beyond)
    return inconclusive("B/cycle", fetch_method, "needs straight-line code of two lengths that lie between its sizes",
                        rates.samples);
  if (std::max(sorted.back(), *beyond) > least_ratio * std::min(sorted.front(), *beyond))
    return inconclusive("B/cycle", fetch_method,
                        "differs with the length of the code, not all of which comes from here", rates.samples);
  return served(each, rates.samples, fastest, note);
}

// What each SM's warp is served while one of each runs code of the same length, SM by SM.
Expected<std::vector<double>> rates_together(Session& session, std::uint64_t bytes) {
  const device::DeviceInfo& info = session.info();
  const std::uint64_t units = bytes / info.execute_unit_bytes;
  program::Program p = running(info, units);
  p.isolation = Scope::sm;
  program::Batch batch(info.gpu.sm_count, p);
  for (std::uint32_t sm = 0; sm < info.gpu.sm_count; ++sm) batch[sm].agents = {{sm, 0}};
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<double> rates;
  for (const program::ProgramTrace& trace : *traces)
    rates.push_back(static_cast<double>(bytes) / lap_cycles(std::span(&trace, 1), units));
  return rates;
}

// Three of the lengths, the longest left out, which reaches farthest towards what is lost: what all of them together
// are served tells of this cache where it is alike, as for one warp.
Expected<void> state_together(Session& session, const Rates& alone, double fastest, Memory& memory) {
  if (memory.attributes["fetch_bandwidth"].status == Status::inconclusive) return {};
  DecidingCurve curve = make_curve(memory.id, "shared_fetch_bandwidth", {"SM", "", false},
                                   {"a warp of each SM is served", "B/cycle", false});
  std::set<double> lengths;
  for (std::size_t third = 0; third < 3; ++third)
    lengths.insert(alone.by_bytes[alone.by_bytes.size() * third / 3].first);
  Rates medians;
  std::vector<double> all;
  for (const double bytes : lengths) {
    auto rates = rates_together(session, static_cast<std::uint64_t>(bytes));
    if (!rates) return tl::unexpected<Error>(rates.error());
    curve.series.push_back({fmt::format("{:.0f} B of code at once", bytes), {}});
    for (std::size_t sm = 0; sm < rates->size(); ++sm)
      curve.series.back().points.emplace_back(static_cast<double>(sm), (*rates)[sm]);
    all.insert(all.end(), rates->begin(), rates->end());
    medians.samples +=
        rates->size() * fetch_laps * static_cast<std::uint64_t>(bytes) / session.info().execute_unit_bytes;
    medians.by_bytes.emplace_back(bytes, median(std::move(*rates)));
  }
  session.keep(std::move(curve));
  std::sort(all.begin(), all.end());
  memory.attributes["shared_fetch_bandwidth"] =
      rate_of(medians, all, fastest, "one warp of each SM, all at once; the range is over SMs and lengths of code");
  return {};
}

}  // namespace

Expected<std::optional<bool>> loses_code_in_a_row(Session& session, std::uint64_t bytes,
                                                  std::uint64_t front_lost_bytes) {
  constexpr double shows = 1.25;  // what is lost takes so much more, where its rate is another one at all
  const device::DeviceInfo& info = session.info();
  if (!info.has_execute) return std::optional<bool>();
  const std::uint64_t unit = info.execute_unit_bytes;
  const std::array<std::uint64_t, 3> units{bytes * 7 / 16 / unit, bytes * 3 / 4 / unit, 2 * bytes / unit + 1};
  const bool are_long_enough = units[0] >= 2 && units[0] * unit > front_lost_bytes * 3 / 2 && units[1] > units[0];
  const std::uint64_t limit = std::min(info.execute_limit_bytes, info.largest_recording / fetch_laps * unit);
  if (!are_long_enough || units[2] * unit > limit) return std::optional<bool>();
  program::Batch batch;
  for (const std::uint64_t n : units) batch.insert(batch.end(), fetch_times, running(info, n));
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::array<double, 3> of_a_unit{};
  for (std::size_t i = 0; i < units.size(); ++i)
    of_a_unit[i] =
        lap_cycles(std::span(*traces).subspan(i * fetch_times, fetch_times), units[i]) / static_cast<double>(units[i]);
  const auto [stays, asked, lost] = of_a_unit;
  if (lost < shows * stays) return std::optional<bool>();
  if (asked * least_ratio >= lost) return std::optional(true);
  return asked <= least_ratio * stays ? std::optional(false) : std::nullopt;
}

Expected<void> measure_fetch(Session& session, std::span<const FetchLevel> levels, Topology& topology) {
  if (!session.info().has_execute) return {};
  std::vector<Rates> all;
  Series by_length{"code of this length", {}};
  double fastest = 0;
  for (const FetchLevel& level : levels) {
    auto rates = measure_rates(session, level);
    if (!rates) return tl::unexpected<Error>(rates.error());
    for (const auto& point : rates->by_bytes) {
      by_length.points.push_back(point);
      fastest = std::max(fastest, point.second);
    }
    all.push_back(std::move(*rates));
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    Memory* memory = topology.find(levels[i].memory);
    if (memory == nullptr) continue;
    memory->attributes["fetch_bandwidth"] = rate_of(all[i], all[i].sorted(), fastest, "one warp, all else idle");
    DecidingCurve curve = make_curve(levels[i].memory, "fetch_bandwidth", {"straight-line code", "B", true},
                                     {"one warp is served", "B/cycle", false});
    curve.series = {by_length};
    session.keep(std::move(curve));
    if (auto ok = state_together(session, all[i], fastest, *memory); !ok) return ok;
    // A cache of whose size no more than a bound shows may lose, lap by lap, code that it has room for.
    const Estimate* size = memory->find("size");
    if (size == nullptr || size->status == Status::measured || size->status == Status::api) continue;
    for (const char* name : {"fetch_bandwidth", "shared_fetch_bandwidth"})
      if (const auto rate = memory->attributes.find(name); rate != memory->attributes.end())
        if (rate->second.status == Status::measured)
          bound_below(rate->second, "how much it holds isn't known: some of the code may come from behind it");
  }
  return {};
}

}  // namespace gputopo::experiments
