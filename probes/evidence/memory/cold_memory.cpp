#include "evidence/memory/cold_memory.hpp"

#include <algorithm>
#include <cmath>

#include "evidence/inference/levels.hpp"
#include "evidence/looks/flush.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t every_page = 64 << 10;  // the smallest that GPUs are known to give device memory

}  // namespace

ColdMemory::ColdMemory(Session& session, std::uint64_t flush_bytes, std::uint64_t room_bytes)
    : session_(&session), flush_bytes_(flush_bytes), room_bytes_(room_bytes) {}

bool ColdMemory::fits() const {
  return flush_bytes_ != 0 && begin() + room_bytes_ <= session_->info().largest_buffer_bytes;
}

std::optional<double> ColdMemory::threshold_cycles(const Histogram& hits, const Histogram& misses) {
  constexpr double nearly_all = 0.9, most = 0.25;  // of hits one in twenty is a stranger's (docs/domain.md)
  if (!levels_of(hits, misses).usable()) return std::nullopt;
  const double hit = *quantile(hits, nearly_all), miss = *quantile(misses, most);
  if (hit >= miss) return std::nullopt;
  return hit + (miss - hit) / 3 + 0.5;
}

program::Program ColdMemory::program(std::string label) const {
  program::Program p = make_program(std::move(label), session_->info(), slot_flush);
  p.buffers[slot_flush].size_bytes = std::max(begin() + room_bytes_, slot_bytes);
  p.isolation = Scope::gpu;
  p.agents = {{0, 0}};
  return p;
}

program::Walk ColdMemory::load(std::uint64_t place_bytes) const {
  program::Walk walk = make_walk(l2_path, 4, 4, 1);
  walk.first_byte = begin() + place_bytes;
  return walk;
}

void ColdMemory::look_twice(program::Program& p, std::uint64_t place_bytes) const {
  p.phases.insert(p.phases.end(), 2, recorded(load(place_bytes), program::Record::latencies, 1));
}

ColdMemory::Longer ColdMemory::longer_of(const Pairs& looks) {
  Longer longer;
  for (const auto& [first, second] : looks) {
    longer.first += first > most_longer * second ? 1 : 0;
    longer.second += second > most_longer * first ? 1 : 0;
  }
  return longer;
}

std::optional<bool> ColdMemory::are_alike(const Pairs& looks) {
  constexpr double deviations = 3;         // of as many that are longer by chance as shorter
  constexpr double hardly_any = 0.05;      // of a line's looks: its lower quartile knows nothing of them
  constexpr std::size_t least_pairs = 10;  // of fewer even all would pass for chance
  if (looks.size() < least_pairs) return std::nullopt;
  const Longer longer = longer_of(looks);
  const double by_chance = deviations * std::sqrt(longer.first + longer.second);
  return longer.first - longer.second <= std::max(by_chance, hardly_any * static_cast<double>(looks.size()));
}

ColdMemory::Pairs ColdMemory::pairs_of(std::span<const program::PhaseTrace> phases) {
  Pairs pairs;
  std::optional<double> first;
  for (const program::PhaseTrace& look : phases) {
    if (look.latencies.empty()) continue;
    const double cycles = look.latencies[0];
    if (first) pairs.emplace_back(*first, cycles);
    first = first ? std::nullopt : std::optional(cycles);
  }
  return pairs;
}

Expected<std::optional<std::vector<program::ProgramTrace>>> ColdMemory::run(const program::Batch& batch) {
  program::Program translate = program("pages of cold memory");
  program::Walk touch = by_all_lanes(make_walk(l2_path, room_bytes_, every_page, 1), session_->info());
  touch.first_byte = begin();
  translate.phases = {touch};
  constexpr std::uint64_t shortest_line = 32;  // all sets are emptied, whatever the line
  return if_available(session_->run_in_order([&] {
    return std::vector<program::Batch>{
        {translate}, flush_batch(session_->info(), flush_bytes_, begin() + room_bytes_, shortest_line), batch};
  }));
}

}  // namespace gputopo::evidence
