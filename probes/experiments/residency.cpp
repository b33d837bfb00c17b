#include "experiments/residency.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "experiments/estimates.hpp"
#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;

constexpr std::array<double, 4> overflows{1.25, 1.5, 1.75, 2.0};  // footprints, times the capacity
constexpr std::uint32_t warm_laps = 1;  // fills every way; replacement then only exchanges lines

std::uint64_t hits(const program::PhaseTrace& phase, double threshold_cycles) {
  return total(phase.histogram) - count_from(phase.histogram, threshold_cycles);
}

std::uint64_t overflowing(std::uint64_t capacity_bytes, double factor) {
  constexpr std::uint64_t unit = 4096;
  return static_cast<std::uint64_t>(static_cast<double>(capacity_bytes) * factor) / unit * unit + unit;
}

program::Program overflow_program(const Session& session, const CachePath& path, std::uint64_t bytes,
                                  std::uint64_t sector_bytes, std::uint64_t shared_bytes) {
  program::Program p = make_program(fmt::format("{} residency {} B", path.id, bytes), session.info(), path.slot);
  if (shared_bytes != 0) p.buffers.push_back({program::Space::shared, shared_bytes, 0});
  p.phases = {make_walk(path, bytes, sector_bytes, warm_laps)};
  return p;
}

// One count for every footprint where each sector is looked at several times: slow for another reason than a miss now
// and then, a resident sector is fast at least once.
Expected<std::vector<double>> count_carefully(Session& session, const CachePath& path,
                                              const std::vector<std::uint64_t>& footprints, std::uint64_t sector_bytes,
                                              double threshold_cycles, std::uint64_t shared_bytes) {
  constexpr std::uint64_t looks = 3;
  const std::uint64_t chunk_loads = std::max<std::uint32_t>(1, session.info().largest_recording);
  program::Batch batch;
  for (const std::uint64_t bytes : footprints) {
    program::Program p = overflow_program(session, path, bytes, sector_bytes, shared_bytes);
    for (std::uint64_t from = 0; from < bytes; from += chunk_loads * sector_bytes) {
      program::Walk probe = recorded(
          make_walk(path, std::min(chunk_loads * sector_bytes, bytes - from), sector_bytes, 1), Record::latencies, 1);
      probe.path = program::Path::global_no_allocate;
      probe.first_byte = from;
      p.phases.insert(p.phases.end(), looks, probe);
    }
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<double> resident;
  for (const auto& trace : *traces) {
    std::uint64_t sectors = 0;
    for (std::size_t first = 1; first < trace.phases.size(); first += looks) {
      for (std::size_t i = 0; i < trace.phases[first].latencies.size(); ++i) {
        bool fast = false;
        for (std::size_t look = first; look < first + looks; ++look)
          fast = fast || trace.phases[look].latencies[i] < threshold_cycles;
        if (fast) ++sectors;
      }
    }
    resident.push_back(static_cast<double>(sectors * sector_bytes));
  }
  return resident;
}

}  // namespace

Expected<std::optional<Estimate>> measure_residency(Session& session, const CachePath& path,
                                                    std::uint64_t capacity_bytes, std::uint64_t sector_bytes,
                                                    double threshold_cycles, std::uint64_t shared_bytes) {
  program::Batch batch;
  std::vector<std::uint64_t> footprints;
  for (const double factor : overflows) {
    const std::uint64_t bytes = overflowing(capacity_bytes, factor);
    program::Program p = overflow_program(session, path, bytes, sector_bytes, shared_bytes);
    program::Walk probe = recorded(make_walk(path, bytes, sector_bytes, 1), Record::histogram, 1);
    probe.path = program::Path::global_no_allocate;
    p.phases.emplace_back(probe);
    batch.push_back(std::move(p));
    footprints.push_back(bytes);
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<double> resident;
  std::uint64_t samples = 0;
  for (const auto& trace : *traces) {
    samples += trace.phases.back().loads;
    resident.push_back(static_cast<double>(hits(trace.phases.back(), threshold_cycles) * sector_bytes));
  }
  const auto range = [&] { return std::minmax_element(resident.begin(), resident.end()); };
  // An outlier or two hide hits; a count that follows the footprint is no capacity.
  if (*range().first <= 0 || *range().second - *range().first > 0.01 * *range().second)
    return std::optional<Estimate>();
  if (*range().first != *range().second) {
    auto careful = count_carefully(session, path, {footprints.front(), footprints[1]}, sector_bytes, threshold_cycles,
                                   shared_bytes);
    if (!careful) return tl::unexpected<Error>(careful.error());
    resident.insert(resident.end(), careful->begin(), careful->end());
  }
  const auto [low, high] = range();
  // Disturbances only ever hide resident sectors, so the highest count is the best one.
  Estimate e = measured(*high, "B", "residency", samples);
  e.interval = Interval{*low, *high};
  e.confidence = *low == *high ? 0.999 : 0.95;
  return std::optional(e);
}

Expected<double> count_residency_carefully(Session& session, const CachePath& path, std::uint64_t capacity_bytes,
                                           std::uint64_t sector_bytes, double threshold_cycles,
                                           std::uint64_t shared_bytes) {
  auto counts = count_carefully(session, path,
                                {overflowing(capacity_bytes, overflows[0]), overflowing(capacity_bytes, overflows[1])},
                                sector_bytes, threshold_cycles, shared_bytes);
  if (!counts) return tl::unexpected<Error>(counts.error());
  return std::max(counts->front(), counts->back());
}

namespace {

constexpr std::array<std::uint64_t, 3> quarters_back{6, 7, 8};  // of the capacity, walked and walked back

std::uint64_t bytes_back(std::uint64_t capacity_bytes, std::uint64_t quarters, std::uint64_t line_bytes) {
  return (capacity_bytes * quarters / 4 / line_bytes + 1) * line_bytes;
}

// The same count line by line: fast in most of several ways back. A line of a large cache is slow for another reason
// than a miss in nearly every way.
Expected<std::vector<std::uint64_t>> count_back_carefully(Session& session, const CachePath& path,
                                                          std::uint64_t capacity_bytes, std::uint64_t line_bytes,
                                                          double threshold_cycles) {
  constexpr std::size_t ways_back = 5;
  const std::uint64_t chunk = std::max<std::uint32_t>(1, session.info().largest_recording) * line_bytes;
  program::Batch batch;
  for (const std::uint64_t quarters : quarters_back) {
    const std::uint64_t bytes = bytes_back(capacity_bytes, quarters, line_bytes);
    program::Program p =
        make_program(fmt::format("{} reverse residency of {} B by line", path.id, bytes), session.info(), path.slot);
    p.phases = {make_walk(path, bytes, line_bytes, 2)};
    for (std::uint64_t left = bytes; left != 0; left -= std::min(left, chunk)) {
      const std::uint64_t part = std::min(left, chunk);
      program::Walk back = recorded(make_walk(path, part, line_bytes, 1), Record::latencies, 1);
      back.order = program::Order::reverse;
      back.first_byte = left - part;
      p.phases.emplace_back(back);
    }
    batch.insert(batch.end(), ways_back, p);
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::uint64_t> lines;
  for (std::size_t first = 0; first < traces->size(); first += ways_back) {
    std::vector<std::size_t> fast;
    for (std::size_t way = first; way < first + ways_back; ++way) {
      std::size_t line = 0;
      for (const program::PhaseTrace& phase : (*traces)[way].phases) {
        fast.resize(std::max(fast.size(), line + phase.latencies.size()));
        for (const std::uint32_t cycles : phase.latencies) fast[line++] += cycles < threshold_cycles ? 1 : 0;
      }
    }
    lines.push_back(static_cast<std::uint64_t>(
        std::count_if(fast.begin(), fast.end(), [](std::size_t times) { return 2 * times > ways_back; })));
  }
  return lines;
}

}  // namespace

Expected<std::optional<Estimate>> measure_reverse_residency(Session& session, const CachePath& path,
                                                            std::uint64_t capacity_bytes, std::uint64_t line_bytes,
                                                            double threshold_cycles) {
  constexpr std::size_t replicates = 4;  // disturbances only ever hide hits
  program::Batch batch;
  for (const std::uint64_t quarters : quarters_back) {
    const std::uint64_t bytes = bytes_back(capacity_bytes, quarters, line_bytes);
    program::Program p =
        make_program(fmt::format("{} reverse residency {} B", path.id, bytes), session.info(), path.slot);
    if (bytes > p.buffers[path.slot].size_bytes) return std::optional<Estimate>();
    program::Walk back = recorded(make_walk(path, bytes, line_bytes, 1), Record::histogram, 1);
    back.order = program::Order::reverse;
    p.phases = {make_walk(path, bytes, line_bytes, 2), back};
    batch.insert(batch.end(), replicates, p);
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<std::uint64_t> most(quarters_back.size());
  std::uint64_t samples = 0;
  for (std::size_t i = 0; i < traces->size(); ++i) {
    const program::PhaseTrace& phase = (*traces)[i].phases.back();
    std::uint64_t& count = most[i / replicates];
    count = std::max(count, hits(phase, threshold_cycles));
    samples += phase.loads;
  }
  const auto differ_by = [&] {
    const auto [low, high] = std::minmax_element(most.begin(), most.end());
    return *high - *low;
  };
  // Of many hits a few are slow in every replicate.
  constexpr std::uint64_t hits_a_slow_one = 200;
  if (differ_by() != 0 && differ_by() <= most.front() / hits_a_slow_one) {
    auto careful = count_back_carefully(session, path, capacity_bytes, line_bytes, threshold_cycles);
    if (!careful) return tl::unexpected<Error>(careful.error());
    most = *careful;
  }
  if (differ_by() != 0 || most.front() == 0) return std::optional<Estimate>();
  Estimate e = measured(static_cast<double>(most.front() * line_bytes), "B", "reverse_residency", samples);
  e.interval = Interval{*e.value, *e.value};
  e.confidence = 0.99;
  return std::optional(e);
}

}  // namespace gputopo::experiments
