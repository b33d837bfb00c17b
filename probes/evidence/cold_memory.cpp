#include "evidence/cold_memory.hpp"

#include <algorithm>
#include <cmath>

#include "evidence/flush.hpp"
#include "evidence/levels.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t every_page = 64 << 10;    // the smallest that GPUs are known to give device memory
constexpr std::uint64_t smallest_page = 4 << 10;  // and that any could

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

std::optional<bool> ColdMemory::are_alike(std::span<const program::PhaseTrace> looks, const LostByL2& lost) {
  constexpr double most_longer = 1.02;    // a TLB's miss takes more
  constexpr double deviations = 3;        // of as many that are longer by chance as shorter
  constexpr std::size_t least_pairs = 8;  // of fewer nothing is known
  std::vector<double> cycles;
  for (const program::PhaseTrace& look : looks)
    if (!look.latencies.empty()) cycles.push_back(look.latencies[0]);
  std::size_t pairs = 0;
  double longer = 0, shorter = 0;
  for (std::size_t i = 0; i + 1 < cycles.size(); i += 2) {
    // What takes as long as a level behind it the L2 had lost, to others or to what it fetches ahead.
    const auto is_as = [&](double level) {
      return cycles[i] <= least_ratio * level && level <= least_ratio * cycles[i];
    };
    if (std::any_of(lost.cycles.begin(), lost.cycles.end(), is_as)) continue;
    ++pairs;
    longer += cycles[i] > most_longer * cycles[i + 1] ? 1 : 0;
    shorter += cycles[i + 1] > most_longer * cycles[i] ? 1 : 0;
  }
  if (pairs < least_pairs) return std::nullopt;
  const double elsewhere = lost.may_be_far ? static_cast<double>(pairs) / 2 : 0;
  return longer - shorter <= std::max(elsewhere, deviations * std::sqrt(longer + shorter));
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

LostByL2 lost_by_l2(const Findings& findings) {
  LostByL2 lost;
  const auto l2 = findings.caches.find("l2");
  const auto memory = findings.caches.find("device_memory");
  if (l2 == findings.caches.end() || !l2->second.present) return lost;
  if (memory != findings.caches.end())
    lost.cycles.push_back(memory->second.latency_cycles + memory->second.overhead_cycles);
  if (l2->second.next_level) lost.cycles.push_back(l2->second.next_level->centre);
  const Memory* m = findings.topology.find("l2");
  const Estimate* far = m == nullptr ? nullptr : m->find("far_latency");
  if (findings.beyond_own_l2) far = &findings.beyond_own_l2->latency;
  if (far != nullptr && far->value) lost.cycles.push_back(*far->value + l2->second.overhead_cycles);
  lost.may_be_far = findings.may_lines_be_far();
  return lost;
}

namespace {

// Another SM that finds near what SM 0 does, and as far from it as can be, so that neither knows the other's
// translations; SM 0 itself where nobody knows of one: then it knows them as far as its TLBs keep so few.
std::uint32_t other_sm(const Session& session, const Findings& findings) {
  const bool are_sets_known = findings.l2_sets && findings.l2_sets->why_open.empty();
  if (!are_sets_known) return findings.may_lines_be_far() ? 0 : session.info().gpu.sm_count - 1;
  for (const auto& set : findings.l2_sets->sets)
    if (std::find(set.begin(), set.end(), 0U) != set.end()) return *std::max_element(set.begin(), set.end());
  return 0;
}

}  // namespace

std::optional<std::string_view> why_untranslated(std::optional<bool> are_alike) {
  if (!are_alike) return "whether TLBs keep so many pages can't be told: too few lines were looked at undisturbed";
  if (!*are_alike) return "translation takes a part in it: TLBs don't keep so many pages";
  return std::nullopt;
}

namespace {

Expected<std::optional<bool>> keeps_translation(Session& session, Findings& findings) {
  constexpr std::uint64_t lines = 32, half_a_page = every_page / 2, apart = 4 * every_page;
  const CacheFacts* memory = findings.cache("device_memory");
  if (memory == nullptr) return std::optional<bool>();
  ColdMemory cold(session, memory->capacity_bytes, lines * apart);
  if (!cold.fits()) return std::optional<bool>();
  program::Program p = cold.program("translation of cold memory");
  p.agents.push_back({other_sm(session, findings), 0});
  // Each in another set of the L2, whatever its number of sets.
  const auto place = [&](std::uint64_t i) { return i * apart + i * 33 % 128 * 128; };
  p.phases = {by_all_lanes(make_walk(l2_path, memory->capacity_bytes, smallest_page, 1), session.info())};
  for (std::uint64_t i = 0; i < lines; ++i) {
    program::Walk bring = cold.load(place(i));
    bring.agent = 1;
    p.phases.emplace_back(bring);
  }
  for (std::uint64_t i = 0; i < lines; ++i) {
    p.phases.emplace_back(cold.load(place(i) + half_a_page));
    cold.look_twice(p, place(i));
  }
  auto traces = cold.run({p});
  if (!traces) return tl::unexpected<Error>(traces.error());
  if (!*traces) return std::optional<bool>();
  return ColdMemory::are_alike((*traces)->back().phases, lost_by_l2(findings));
}

}  // namespace

Expected<std::optional<std::string_view>> why_untranslated(Session& session, Findings& findings) {
  if (!findings.keeps_translation) {
    auto keeps = keeps_translation(session, findings);
    if (!keeps) return tl::unexpected<Error>(keeps.error());
    findings.keeps_translation = *keeps;
  }
  return why_untranslated(findings.keeps_translation);
}

}  // namespace gputopo::evidence
