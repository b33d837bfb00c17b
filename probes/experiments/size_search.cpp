#include "experiments/size_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using change_point::Finding;
using change_point::Trace;
using change_point::Verdict;
using program::Record;

constexpr std::uint32_t patience = 16;  // times the laps, for caches that settle slowly
constexpr std::ptrdiff_t stray_misses = 2;
constexpr double no_limit_cycles = 1e9;
constexpr std::uint64_t loads_wanted = 1024;  // a row, so that small caches give as much evidence as large ones

struct Part {
  std::uint32_t buffer;
  std::uint64_t bytes;
};

// Banks are filled one after the other, to the end: parts of equal length would crowd the sets that all of them begin
// in, and leave others empty.
std::vector<Part> parts_of(const SearchSpec& spec, std::uint64_t bytes) {
  std::vector<Part> parts;
  const std::uint64_t room = spec.bank_bytes == 0 ? bytes : spec.bank_bytes;
  for (auto buffer = static_cast<std::uint32_t>(spec.path.slot); bytes != 0; ++buffer) {
    parts.push_back({buffer, std::min(room, bytes)});
    bytes -= parts.back().bytes;
  }
  return parts;
}

// All that a program recorded.
Histogram recorded_histogram(const program::ProgramTrace& trace) {
  Histogram all;
  for (const auto& phase : trace.phases) all = merged(all, phase.histogram);
  return all;
}

bool overflows(const SearchSpec& spec, const program::ProgramTrace& trace) {
  const Histogram histogram = recorded_histogram(trace);
  const std::uint64_t misses = count_from(histogram, spec.threshold_cycles);
  return misses > 2 && misses * 50 > total(histogram);
}

// Of a row that classified() made.
double misses_in_a_lap(const change_point::Row& row, std::uint64_t stride_bytes) {
  const auto misses = std::count(row.values.begin(), row.values.end(), classified_miss_cycles);
  return static_cast<double>(misses) / static_cast<double>(row.values.size()) * row.control /
         static_cast<double>(stride_bytes);
}

bool mostly_misses(const Trace& trace) {
  return std::all_of(trace.rows.begin(), trace.rows.end(), [](const change_point::Row& row) {
    return 2 * std::count(row.values.begin(), row.values.end(), classified_miss_cycles) >
           static_cast<std::ptrdiff_t>(row.values.size());
  });
}

// The first `count` rows without a miss.
bool begin_with_hits(const Trace& trace, std::size_t count) {
  const auto end = trace.rows.begin() + static_cast<std::ptrdiff_t>(std::min(count, trace.rows.size()));
  return std::all_of(trace.rows.begin(), end, [](const change_point::Row& row) {
    return std::count(row.values.begin(), row.values.end(), classified_miss_cycles) == 0;
  });
}

// A footprint that is k lines too large misses at least k times in each lap. So a few misses at the size found may be
// somebody else's, or say that it is so many lines too large.
Finding with_unexplained_misses(Finding finding, const Trace& trace, std::uint64_t stride_bytes) {
  for (const change_point::Row& row : trace.rows)
    if (row.control == finding.value)
      finding.low =
          std::min(finding.low, finding.value - misses_in_a_lap(row, stride_bytes) * static_cast<double>(stride_bytes));
  return finding;
}

std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) {
  return std::max(unit, value / unit * unit);
}

}  // namespace

program::Program footprint_program(const Session& session, const SearchSpec& spec, std::uint64_t bytes) {
  program::Program p = make_program(fmt::format("{} {} B", spec.path.id, bytes), session.info(), spec.path.slot);
  p.isolation = spec.isolation;
  const std::vector<Part> parts = parts_of(spec, bytes);
  for (std::uint32_t module = 1; module < parts.size(); ++module)
    p.buffers.push_back({program::Space::constant, spec.bank_bytes, module});
  const std::uint64_t lap_loads = program::lap_loads(make_walk(spec.path, bytes, spec.stride_bytes, 1));
  const auto laps =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(loads_wanted / lap_loads, spec.timed_laps, 16));
  const std::uint64_t turns = spec.front_line_bytes == 0 ? 1 : spec.stride_bytes / spec.front_line_bytes;
  if (turns <= 1 && parts.size() == 1) {
    const program::Walk warm = make_walk(spec.path, bytes, spec.stride_bytes, spec.warm_laps);
    p.phases = {warm, recorded(warm, Record::histogram, laps)};
    return p;
  }
  // Each lap loads every line of the cache in question once, by another line of the one in front in turn: so that one
  // sees the whole footprint before anything comes again, and has nothing of it any more.
  for (std::uint32_t lap = 0; lap < spec.warm_laps + laps; ++lap) {
    for (const Part& part : parts) {
      program::Walk walk = make_walk(spec.path, part.bytes, spec.stride_bytes, 1);
      walk.buffer = part.buffer;
      walk.first_byte = turns <= 1 ? 0 : lap % turns * spec.front_line_bytes;
      const auto add = [&] {
        p.phases.emplace_back(lap < spec.warm_laps ? walk : recorded(walk, Record::histogram, 1));
      };
      const bool last_apart =
          walk.first_byte + part.bytes > p.buffers[part.buffer].size_bytes && part.bytes > spec.stride_bytes;
      if (last_apart) walk.footprint_bytes = part.bytes - spec.stride_bytes;
      add();
      if (!last_apart) continue;
      walk.first_byte += walk.footprint_bytes;
      walk.footprint_bytes = spec.front_line_bytes;
      add();
    }
  }
  return p;
}

Expected<Bracket> search_by_doubling(Session& session, const SearchSpec& spec) {
  Bracket bracket;
  // Few footprints a launch: a launch takes as long as its largest one.
  constexpr std::uint64_t many_until_bytes = 64 << 10;
  std::uint64_t bytes = spec.first_bytes;
  while (bytes <= spec.limit_bytes) {
    program::Batch batch;
    std::vector<std::uint64_t> sizes;
    for (; bytes <= spec.limit_bytes && sizes.size() < (bytes < many_until_bytes ? 4U : 2U); bytes *= 2) {
      sizes.push_back(bytes);
      batch.push_back(footprint_program(session, spec, bytes));
    }
    auto traces = session.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (overflows(spec, (*traces)[i])) {
        bracket.overflows_bytes = sizes[i];
        return bracket;
      }
      bracket.fits_bytes = sizes[i];
    }
  }
  return bracket;
}

Expected<Trace> sweep(Session& session, const SearchSpec& spec, std::uint64_t low_bytes, std::uint64_t high_bytes,
                      std::uint64_t step_bytes, std::size_t replicates) {
  program::Batch batch;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = low_bytes; bytes <= high_bytes; bytes += step_bytes) {
    sizes.push_back(bytes);
    batch.insert(batch.end(), replicates, footprint_program(session, spec, bytes));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  // The thesis's method reads latencies as they are; what a hit takes is known by now, which the default makes use of.
  const bool raw = session.options().method == Method::thesis;
  Trace trace;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto first = traces->begin() + static_cast<std::ptrdiff_t>(i * replicates);
    const auto misses = [&](const program::ProgramTrace& t) {
      return count_from(recorded_histogram(t), spec.threshold_cycles);
    };
    const auto quietest = std::min_element(first, first + static_cast<std::ptrdiff_t>(replicates),
                                           [&](const auto& a, const auto& b) { return misses(a) < misses(b); });
    const Histogram histogram = recorded_histogram(*quietest);
    trace.rows.push_back({static_cast<double>(sizes[i]),
                          raw ? values(histogram) : classified(histogram, spec.threshold_cycles, no_limit_cycles)});
  }
  return trace;
}

Expected<std::uint64_t> count_misses(Session& session, const SearchSpec& spec, std::uint64_t bytes) {
  auto traces = session.run({footprint_program(session, spec, bytes)});
  if (!traces) return tl::unexpected<Error>(traces.error());
  return count_from(recorded_histogram(traces->front()), spec.threshold_cycles);
}

Expected<Finding> narrow(Session& session, const SearchSpec& spec, const Bracket& bracket,
                         std::uint64_t resolution_bytes) {
  const std::uint64_t unit = resolution_bytes;
  const std::uint64_t floor = round_down(spec.first_bytes, unit);
  // A footprint a little too large can miss so rarely that doubling took it for one that fits.
  std::uint64_t low = std::max(floor, round_down(bracket.fits_bytes * 4 / 5, unit));
  std::uint64_t high = round_down(bracket.overflows_bytes != 0 ? bracket.overflows_bytes : spec.limit_bytes, unit);
  std::uint64_t finer = std::numeric_limits<std::uint64_t>::max();  // a sweep of few rows must get somewhere, too
  const bool raw = session.options().method == Method::thesis;
  Finding finding;
  constexpr int stages_at_most = 8;
  for (int stage = 0; stage < stages_at_most; ++stage) {
    const std::uint64_t step = round_down(std::min((high - low) / spec.coarse_rows, finer), unit);
    auto trace = sweep(session, spec, low, high, step, step == unit ? spec.final_replicates : 1);
    if (!trace) return tl::unexpected<Error>(trace.error());
    finding = change_point::find_size(*trace, session.change_point_options());
    // A sweep that lies above the capacity altogether changes as little as one below it.
    if (!raw && finding.verdict == Verdict::lower_bound && mostly_misses(*trace))
      finding.verdict = Verdict::upper_bound;
    const std::uint64_t last = low + (high - low) / step * step;
    const std::uint64_t span = last - low;
    const std::uint64_t limit = round_down(spec.limit_bytes, unit);
    const bool some_fit = !raw && begin_with_hits(*trace, 2);
    const bool undecided = finding.verdict == Verdict::inconclusive && some_fit;
    const bool above = finding.verdict == Verdict::upper_bound || undecided;
    if (above && some_fit && begin_with_hits(*trace, trace->rows.size() / 4) && last < limit) {
      // Misses that stay the same from some row on are somebody else's, and what follows isn't in view.
      high = std::min(limit, last + std::max(span, 8 * unit));
      continue;
    }
    if (finding.verdict == Verdict::inconclusive && !undecided) return finding;
    if (above) {
      if (low == floor) return finding;
      high = low + 2 * step;
      low = low > floor + span ? low - span : floor;
      continue;
    }
    if (finding.verdict == Verdict::lower_bound) {
      if (last >= limit) return finding;
      low = last - std::min(span / 2, 2 * step);
      high = std::min(limit, last + std::max(span, 8 * unit));
      continue;
    }
    if (step == unit) return raw ? finding : with_unexplained_misses(finding, *trace, spec.stride_bytes);
    finer = step / 3;
    const auto found = static_cast<std::uint64_t>(finding.value);
    // Room on both sides: a fixed extra miss can look like an onset until what really follows is in view.
    low = found > floor + 3 * step ? found - 3 * step : floor;
    high = std::min(round_down(spec.limit_bytes, unit), found + 6 * step);
  }
  return finding;
}

Expected<Finding> settled(Session& session, const SearchSpec& spec, const Finding& found) {
  const std::uint64_t step = spec.stride_bytes;
  const std::uint64_t behind = static_cast<std::uint64_t>(found.value) + step;
  if (found.verdict != Verdict::value || session.options().method != Method::standard || behind > spec.limit_bytes)
    return found;
  SearchSpec patient = spec;
  patient.warm_laps *= patience;
  auto row = sweep(session, patient, behind, behind, step);
  if (!row) return tl::unexpected<Error>(row.error());
  const auto& loads = row->rows.front().values;
  const bool fits = std::count(loads.begin(), loads.end(), classified_miss_cycles) <= stray_misses;
  if (!fits) return found;
  return narrow(session, patient, {behind, std::min(spec.limit_bytes, behind * 9 / 8 + 16 * step)}, step);
}

Expected<Finding> without_own_lines(Session& session, const SearchSpec& spec, const Finding& found) {
  constexpr std::uint64_t own_bytes = 2048;
  constexpr double misses_a_line = 1.5;
  constexpr int onsets_at_most = 3;
  const std::uint64_t step = spec.stride_bytes;
  // The average of many laps: of several replicates the quietest would count.
  SearchSpec calm = spec;
  calm.timed_laps = 16;
  Finding finding = found;
  for (int i = 0; i < onsets_at_most && finding.verdict == Verdict::value; ++i) {
    const auto value = static_cast<std::uint64_t>(finding.value);
    const std::uint64_t far = std::min(spec.limit_bytes, value * 5 / 4 + 8 * step) / step * step;
    if (session.options().method != Method::standard || far < value + 8 * step) return finding;
    auto row = sweep(session, calm, far, far, step);
    if (!row) return tl::unexpected<Error>(row.error());
    const double misses = misses_in_a_lap(row->rows.front(), step);
    if (misses >= 0.8 * static_cast<double>(far - value) / static_cast<double>(step)) break;
    if (far + step > spec.limit_bytes) {
      finding.verdict = Verdict::lower_bound;
      finding.value = static_cast<double>(far) - std::ceil(misses) * static_cast<double>(step);
      finding.reason = "so much was held at the limit, though the kernel's own constants and code take lines before it";
      return finding;
    }
    auto next = narrow(session, spec, {far, std::min(spec.limit_bytes, 2 * far)}, step);
    if (!next) return next;
    finding = *next;
  }
  if (finding.verdict != Verdict::value) return finding;
  const auto value = static_cast<std::uint64_t>(finding.value);
  const std::uint64_t last = std::min(spec.limit_bytes, value + own_bytes) / step * step;
  if (session.options().method != Method::standard || last <= value) return finding;
  auto rows = sweep(session, calm, value, last, step);
  if (!rows) return tl::unexpected<Error>(rows.error());
  double at_value = misses_in_a_lap(rows->rows.front(), step);
  constexpr double noticeable = 0.5;
  if (at_value > noticeable) {
    // What hasn't settled yet misses as well, and as often a few lines past the capacity.
    calm.warm_laps *= patience;
    rows = sweep(session, calm, value, last, step);
    if (!rows) return tl::unexpected<Error>(rows.error());
    at_value = misses_in_a_lap(rows->rows.front(), step);
  }
  for (const change_point::Row& row : rows->rows) {
    const double lines_more = (row.control - static_cast<double>(value)) / static_cast<double>(step);
    if (misses_in_a_lap(row, step) > at_value + misses_a_line * lines_more) break;
    finding.value = row.control;
  }
  finding.high = std::max(finding.high, finding.value);
  return finding;
}

}  // namespace gputopo::experiments
