#include "evidence/residency.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

namespace gputopo::evidence {
namespace {

using program::Record;
using program::Walk;

// Of the capacity, walked: more than it is off by, and little, to fit between two turns of other processes.
constexpr std::array<std::uint64_t, 3> sixteenths{17, 18, 19};
constexpr std::size_t residency_looks = 3;  // at each sector

std::uint64_t overflowing(std::uint64_t capacity_bytes, std::uint64_t part, std::uint64_t unit) {
  return (capacity_bytes * part / 16 / unit + 1) * unit;
}

// Phases that record every load of [0, bytes), split where one recording ends.
void add_looks(program::Program& p, Walk look, std::uint64_t bytes, std::uint64_t most_loads, std::size_t times) {
  const std::uint64_t chunk = std::max<std::uint64_t>(1, most_loads) * look.stride_bytes;
  std::vector<Walk> parts;
  for (std::uint64_t from = 0; from < bytes; from += chunk) {
    look.first_byte = from;
    look.footprint_bytes = std::min(chunk, bytes - from);
    parts.insert(parts.end(), times, recorded(look, Record::latencies, 1));
  }
  p.phases.insert(p.phases.end(), parts.begin(), parts.end());
}

// Positions that at least `enough` of their looks found near: `again` looks in a row at each stretch of a program, and
// of all `programs` the same positions.
std::uint64_t found(std::span<const program::ProgramTrace> programs, double threshold_cycles, std::size_t again,
                    std::size_t enough, std::uint64_t& samples) {
  std::vector<std::size_t> fast;
  for (const program::ProgramTrace& trace : programs) {
    std::size_t begin = 0, look = 0;
    for (const program::PhaseTrace& phase : trace.phases) {
      if (phase.latencies.empty()) continue;
      fast.resize(std::max(fast.size(), begin + phase.latencies.size()));
      for (std::size_t i = 0; i < phase.latencies.size(); ++i)
        fast[begin + i] += phase.latencies[i] < threshold_cycles ? 1 : 0;
      samples += phase.latencies.size();
      if (++look % again == 0) begin += phase.latencies.size();
    }
  }
  return static_cast<std::uint64_t>(
      std::count_if(fast.begin(), fast.end(), [&](std::size_t times) { return times >= enough; }));
}

}  // namespace

std::uint64_t Residency::most() const {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

bool Residency::is_steady() const {
  return !bytes.empty() &&
         std::all_of(bytes.begin(), bytes.end(), [&](std::uint64_t b) { return b + slack_bytes >= most(); });
}

Expected<Residency> count_resident(Session& session, const CacheFacts& cache, std::uint64_t about_bytes,
                                   std::uint64_t shared_bytes) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t sector = std::max<std::uint64_t>(4, cache.sector_bytes);
  // One recorded phase where strangers are rare (fewer than one a count, so that some of all counts have none): writing
  // a phase's results costs lines on a real GPU. Else every sector gets several looks, each recorded.
  constexpr std::size_t counts = 5;
  const double hidden = static_cast<double>(about_bytes / sector) * cache.levels.false_miss;
  const bool strangers = hidden > 1;
  program::Batch batch;
  for (const std::uint64_t part : sixteenths) {
    const std::uint64_t bytes = overflowing(about_bytes, part, page);
    program::Program p =
        make_program(fmt::format("{} residency {} B", cache.path.id, bytes), session.info(), cache.path.slot);
    if (shared_bytes != 0) p.buffers.push_back({program::Space::shared, shared_bytes, 0});
    Walk look = make_walk(cache.path, bytes, sector, 1);
    p.phases = {look};  // one load after another: of several at once some push out what hasn't arrived yet
    look.path = program::Path::global_no_allocate;
    if (strangers)
      add_looks(p, look, bytes, session.info().largest_recording, residency_looks);
    else
      p.phases.emplace_back(recorded(look, Record::histogram, 1));
    batch.insert(batch.end(), strangers ? 1 : counts, p);
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  Residency r;
  const std::size_t programs = strangers ? 1 : counts;
  if (!strangers) r.slack_bytes = static_cast<std::uint64_t>(std::ceil(hidden + 3 * std::sqrt(hidden))) * sector;
  for (std::size_t i = 0; i < traces->size(); i += programs) {
    std::uint64_t most = strangers ? found(std::span(*traces).subspan(i, 1), cache.levels.threshold_cycles,
                                           residency_looks, 1, r.samples)
                                   : 0;
    // Strangers only hide sectors.
    for (std::size_t k = 0; k < programs && !strangers; ++k) {
      const auto& timed = (*traces)[i + k].phases.back().histogram;
      most = std::max(most, total(timed) - count_from(timed, cache.levels.threshold_cycles));
      r.samples += total(timed);
    }
    r.bytes.push_back(most * sector);
  }
  return r;
}

}  // namespace gputopo::evidence
