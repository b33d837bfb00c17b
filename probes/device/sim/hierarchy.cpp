#include "device/sim/hierarchy.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "program/order.hpp"
#include "stop/stop.hpp"

namespace gputopo::sim {
namespace {

constexpr std::array<Scope, 6> scopes{Scope::sm, Scope::tpc, Scope::cpc, Scope::gpc, Scope::partition, Scope::gpu};
// Where a stranger's lines come from: no program reaches that far.
constexpr std::uint64_t foreign_base = std::uint64_t{1} << 59;
constexpr std::uint32_t foreign_bits = 37;

std::vector<std::uint32_t> set_of_each(const SmSets& sets, std::uint32_t sm_count) {
  std::vector<std::uint32_t> set(sm_count, 0);
  for (std::uint32_t s = 0; s < sets.size(); ++s)
    for (const std::uint32_t sm : sets[s]) set[sm] = s;
  return set;
}

}  // namespace

Hierarchy::Hierarchy(const Model& model) : model_(&model) {
  const std::uint32_t sm_count = model.gpu.sm_count;
  for (const Scope scope : scopes)
    group_[static_cast<std::size_t>(scope)] = set_of_each(sm_groups(model, scope), sm_count);
  for (std::size_t i = 0; i < model.caches.size(); ++i) {
    const SmSets sets = sharing_sets(model, model.caches[i]);
    cache_set_.push_back(set_of_each(sets, sm_count));
    units_.emplace_back(sets.size() * model.caches[i].instances);
    is_beyond_.push_back(is_beyond_sms(model, i));
    writes_.push_back(writes_of(model, i));
  }
  for (const TlbModel& t : model.tlbs) {
    const SmSets sets = sharing_sets(model, t);
    tlb_set_.push_back(set_of_each(sets, sm_count));
    tlbs_.emplace_back(sets.size());
  }
  const std::uint64_t smallest = model.shared ? model.shared->carve_outs_bytes.front() : 0;
  carve_outs_.assign(sm_count, smallest);
  if (!model.rows) return;
  by_row_ = Divisor(model.rows->size_bytes);
  open_rows_.assign(model.rows->banks, ~std::uint64_t{0});
}

CacheUnit& Hierarchy::unit(std::size_t cache, std::uint32_t sm, std::uint32_t warp) {
  const CacheModel& c = model_->caches[cache];
  auto& slot = units_[cache][first_unit(cache, sm) + c.warp_map[warp % c.warp_map.size()]];
  if (!slot) {
    const bool carved = model_->shared && model_->shared->carved_from == cache;
    slot = std::make_unique<CacheUnit>(c, carved ? carve_outs_[sm] : 0);
  }
  return *slot;
}

CacheArray& Hierarchy::tlb(std::size_t index, std::uint32_t sm) {
  const TlbModel& t = model_->tlbs[index];
  auto& slot = tlbs_[index][tlb_set_[index][sm]];
  if (!slot) slot = std::make_unique<CacheArray>(t.organisation, t.entries);
  return *slot;
}

void Hierarchy::set_carve_out(std::uint32_t sm, std::uint64_t bytes) {
  if (carve_outs_[sm] == bytes) return;
  carve_outs_[sm] = bytes;
  if (model_->shared && model_->shared->carved_from) units_[*model_->shared->carved_from][sm].reset();
}

void Hierarchy::launch(const std::vector<std::uint32_t>& sms) {
  elapsed_cycles_ = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (!model_->caches[i].cleared_at_launch || units_[i].size() <= most_kept_units) continue;
    for (auto& unit : units_[i]) unit.reset();
  }
  for (const std::uint32_t sm : sms) clear_for_launch(sm);
}

void Hierarchy::clear_for_launch(std::uint32_t sm) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const CacheModel& c = model_->caches[i];
    if (!c.cleared_at_launch) continue;
    const std::size_t first = first_unit(i, sm);
    for (std::size_t unit = first; unit < first + c.instances; ++unit)
      if (units_[i][unit]) units_[i][unit]->clear();
  }
}

Route Hierarchy::route(const PathModel& path, std::uint32_t sm, std::uint32_t warp, bool probe_private) {
  Route route;
  route.by_lines = true;
  std::array<std::uint32_t, 6> group{};
  for (std::size_t scope = 0; scope < group.size(); ++scope) group[scope] = group_[scope][sm];
  route.partition = group[static_cast<std::size_t>(Scope::partition)];
  route.distances = Distances(*model_, group);
  for (const Level& level : path) {
    Route::Station s{};
    s.latency_cycles = level.latency_cycles;
    s.far_latency_cycles = level.far_latency_cycles;
    s.tag_class = level.tag_class;
    s.beyond = !level.cache || is_beyond_[*level.cache];
    s.probe = probe_private && !s.beyond;
    if (level.cache) s.unit = &unit(*level.cache, sm, warp);
    if (level.cache) s.writes = writes_[*level.cache];
    for (const std::size_t t : level.tlbs)
      s.tlbs.push_back({&tlb(t, sm), static_cast<std::uint32_t>(std::countr_zero(model_->tlbs[t].page_bytes)),
                        model_->tlbs[t].miss_cycles, ~std::uint64_t{0}});
    s.piece_shift = s.unit == nullptr ? 63 : s.unit->line_shift();
    for (const Route::Tlb& t : s.tlbs) s.piece_shift = std::min(s.piece_shift, t.page_shift);
    route.by_lines = route.by_lines && !s.probe && (s.unit == nullptr || (s.unit->can_fetch() && !s.unit->has_words()));
    route.stations.push_back(std::move(s));
  }
  route.by_lines = route.by_lines && open_rows_.empty();  // each load that gets to memory opens its row
  if (route.by_lines && path.size() > 1 && path.back().tlbs.empty()) route.stations[path.size() - 2].is_last = true;
  return route;
}

void Hierarchy::store(Route& route, std::uint64_t address, Random& random) {
  for (std::size_t i = 0; i < route.stations.size(); ++i) {
    Route::Station& s = route.stations[i];
    ask_tlbs(route, s, address, random);
    if (s.unit == nullptr) return;
    const CacheUnit::Stored stored = s.unit->store(address, s.tag_class, s.writes, random);
    const CacheModel& cache = s.unit->model();
    const std::uint64_t line = address / cache.line_bytes * cache.line_bytes;
    for (std::uint64_t at = line; at < line + cache.line_bytes && stored.fetched != 0; at += cache.sector_bytes)
      if ((stored.fetched & s.unit->sector_bit(at)) != 0) send<false>(route, at, random, i + 1);
    if (!stored.onward) return;
  }
}

// Loads of one line that follow each other at once: a cache sees them as one that asks for all of their sectors, and
// the next level sees the first load of each sector that was missing. Lines are brought in in the same order as by
// single loads, level by level, so that random replacement draws the same numbers for them.
template <class Onward>
void Hierarchy::ask_for_lines(Route& route, std::size_t station, std::span<const std::uint64_t> addresses,
                              Random& random, const Onward& onward) {
  Route::Station& s = route.stations[station];
  for (std::size_t begin = 0, end = 0; begin < addresses.size(); begin = end) {
    const std::uint64_t piece = addresses[begin] >> s.piece_shift;
    ask_tlbs(route, s, addresses[begin], random);
    std::uint32_t sectors = 0;
    for (; end < addresses.size() && addresses[end] >> s.piece_shift == piece; ++end)
      sectors |= s.unit == nullptr ? 0 : s.unit->sector_bit(addresses[end]);
    if (s.is_last) {
      s.unit->ask_for(addresses[begin], sectors, s.tag_class, route.partition, random);
      continue;
    }
    std::uint32_t missing =
        s.unit == nullptr ? 0 : s.unit->fetch(addresses[begin], sectors, s.tag_class, route.partition, random);
    if (missing == 0) continue;
    std::array<std::uint64_t, 32> asked;  // a line has no more sectors
    std::size_t count = 0;
    for (std::size_t i = begin; missing != 0; ++i) {
      const std::uint32_t sector = s.unit->sector_bit(addresses[i]);
      if ((missing & sector) == 0) continue;
      missing &= ~sector;
      asked[count++] = addresses[i];
    }
    onward(std::span<const std::uint64_t>(asked.data(), count));
  }
}

void Hierarchy::touch_line(Route& route, std::size_t station, std::span<const std::uint64_t> addresses,
                           Random& random) {
  ask_for_lines(route, station, addresses, random,
                [&](std::span<const std::uint64_t> onward) { touch_line(route, station + 1, onward, random); });
}

namespace {

// The first cache of a route whose sets the processor doesn't have at hand; null where there is none.
const CacheUnit* large_unit(const Route& route) {
  constexpr std::uint64_t small_lines = 1 << 12;
  for (const Route::Station& s : route.stations)
    if (s.unit != nullptr && s.unit->lines() > small_lines) return s.unit;
  return nullptr;
}

// Calls visit(address) for each load, and has a large cache hear of it some loads before: its sets take the processor
// longer to read than to change.
template <class Visit>
void each_address(const Rounds& r, const Route& route, const Visit& visit) {
  constexpr std::uint64_t loads_ahead = 12;
  constexpr std::uint64_t loads_between_looks = 1024;  // at the user's wish to stop
  const CacheUnit* unit = large_unit(route);
  const bool announces = unit != nullptr;
  std::uint64_t ahead = r.first;
  for (std::uint64_t i = 0; announces && i < loads_ahead; ++i) ahead = program::advance(ahead, r.step, r.count);
  for (std::uint64_t i = 0, position = r.first; i < r.loads; ++i) {
    if (i % loads_between_looks == 0) stop::look();
    if (announces) {
      unit->announce(r.address + ahead * r.stride_bytes, route.partition);
      ahead = program::advance(ahead, r.step, r.count);
    }
    visit(r.address + position * r.stride_bytes);
    position = program::advance(position, r.step, r.count);
  }
}

// Calls visit(addresses) for each line.
template <class Visit>
void each_line(const Rounds& r, const Route& route, const Visit& visit) {
  const std::uint32_t line_shift = route.stations.front().piece_shift;
  std::vector<std::uint64_t> line;
  each_address(r, route, [&](std::uint64_t address) {
    if (!line.empty() && address >> line_shift != line.front() >> line_shift) {
      visit(std::span<const std::uint64_t>(line));
      line.clear();
    }
    line.push_back(address);
  });
  if (!line.empty()) visit(std::span<const std::uint64_t>(line));
}

// Calls visit(addresses) for those that follow each other and are of one line.
template <class Visit>
void each_run(std::span<const std::uint64_t> addresses, std::uint32_t line_shift, const Visit& visit) {
  for (std::size_t begin = 0, end = 0; begin < addresses.size(); begin = end) {
    while (end < addresses.size() && addresses[end] >> line_shift == addresses[begin] >> line_shift) ++end;
    visit(addresses.subspan(begin, end - begin));
  }
}

}  // namespace

bool Hierarchy::sweep(Route& route, std::uint64_t address, std::uint64_t footprint_bytes, std::uint64_t stride_bytes,
                      Random& random) {
  if (!route.by_lines) return false;
  const std::uint64_t loads = std::max<std::uint64_t>(1, footprint_bytes / stride_bytes);
  if (sweep_sets(route, address, loads, stride_bytes, random)) return true;
  expect(route, address, loads, stride_bytes);
  const Route::Station& front = route.stations.front();
  const Rounds lap{address, loads, stride_bytes, 0, 1, loads};
  if (stride_bytes >> front.piece_shift != 0) {
    walk_singly(route, lap, random);
    return true;
  }
  const auto touch = [&](std::span<const std::uint64_t> line) { touch_line(route, 0, line, random); };
  Replay* replay = front.is_last ? nullptr : replay_of(route, lap, true);
  if (replay == nullptr) {
    each_line(lap, route, touch);
    return true;
  }
  make_known(*replay, route, [&](std::vector<std::uint64_t>& onward) {
    each_line(lap, route, [&](std::span<const std::uint64_t> line) {
      ask_for_lines(route, 0, line, random, [&](std::span<const std::uint64_t> missing) {
        onward.insert(onward.end(), missing.begin(), missing.end());
      });
    });
  });
  if (send_known(*replay, route, random)) return true;
  each_run(*replay->onward, front.piece_shift,
           [&](std::span<const std::uint64_t> line) { touch_line(route, 1, line, random); });
  return true;
}

bool Hierarchy::sweep_sets(Route& route, std::uint64_t address, std::uint64_t loads, std::uint64_t stride_bytes,
                           Random& random) {
  constexpr std::uint64_t few = 16;  // what is kept of a sweep costs more than to look at so many sets
  Route::Station& s = route.stations.front();
  if (loads < few || !s.is_last || !s.unit->can_sweep(stride_bytes)) return false;
  // TLBs are asked at each step to another page of the first, whatever the cache has.
  for (std::uint64_t i = 0; i < loads && !s.tlbs.empty();) {
    stop::look();
    const std::uint64_t at = address + i * stride_bytes;
    ask_tlbs(route, s, at, random);
    const std::uint64_t next_page = ((at >> s.tlbs.front().page_shift) + 1) << s.tlbs.front().page_shift;
    i += (next_page - at + stride_bytes - 1) / stride_bytes;
  }
  s.unit->sweep(address, loads, stride_bytes, s.tag_class, route.partition, random);
  return true;
}

// The first cache is what they are meant to overflow; those behind it know the lines soon.
void Hierarchy::expect(Route& route, std::uint64_t address, std::uint64_t loads, std::uint64_t stride_bytes) {
  for (std::size_t i = 1; i < route.stations.size(); ++i)
    if (const Route::Station& s = route.stations[i]; s.unit != nullptr)
      s.unit->expect({address, loads, stride_bytes, s.tag_class}, route.partition);
}

void Hierarchy::rounds(Route& route, const Rounds& rounds, Random& random) {
  if (rounds.loads >= 2 * rounds.count) expect(route, rounds.address, rounds.count, rounds.stride_bytes);
  walk_singly(route, rounds, random);
}

void Hierarchy::walk_singly(Route& route, const Rounds& rounds, Random& random) {
  Replay* replay = replay_of(route, rounds, false);
  if (replay == nullptr)
    return each_address(rounds, route, [&](std::uint64_t address) { touch(route, address, random); });
  const Route::Station& front = route.stations.front();
  make_known(*replay, route, [&](std::vector<std::uint64_t>& onward) {
    each_address(rounds, route, [&](std::uint64_t address) {
      if (front.unit->access(address, front.tag_class, route.partition, false, random) == Outcome::miss)
        onward.push_back(address);
    });
  });
  if (send_known(*replay, route, random)) return;
  for (const std::uint64_t address : *replay->onward) send<false>(route, address, random, 1);
}

// Null where the walk has to be made: its outcome isn't certain, or it is too long to be kept.
Replay* Hierarchy::replay_of(const Route& route, const Rounds& rounds, bool by_lines) {
  // What is kept of a walk, and there are sixteen, is a copy of the cache: a megabyte at most.
  constexpr std::uint64_t most_loads = 1 << 16, most_lines = 1 << 14;
  const Route::Station& front = route.stations.front();
  if (front.unit == nullptr || front.probe || !front.tlbs.empty() || !front.unit->is_predictable() ||
      rounds.loads > most_loads || front.unit->lines() > most_lines)
    return nullptr;
  const Walked walked{
      &front.unit->model(), front.unit->lines(), front.tag_class, front.unit->history(), by_lines, rounds};
  Replay* known = replays_.find(walked);
  return known != nullptr ? known : &replays_.add(walked);
}

// Gives the route's first cache what the walk leaves there. `walk` makes it, and lists what it asks the next level for.
template <class Walk>
void Hierarchy::make_known(Replay& replay, const Route& route, const Walk& walk) {
  CacheUnit& unit = *route.stations.front().unit;
  if (replay.is_known) return unit.restore(replay.state, replay.changes, replay.history);
  const std::uint64_t before = unit.changes();
  std::vector<std::uint64_t> onward;
  walk(onward);
  replay.onward = std::make_shared<const std::vector<std::uint64_t>>(std::move(onward));
  replay.state = unit.state();
  replay.changes = unit.changes() - before;
  replay.is_known = true;
  unit.follow(replay.history);
}

// Sends all that a walk asks the next level for, where it is known to have that.
bool Hierarchy::send_known(const Replay& replay, Route& route, Random& random) {
  Route::Station& next = route.stations[1];
  if (next.unit == nullptr || !next.unit->ask_for_known(replay.onward, next.tag_class, route.partition)) return false;
  for (std::size_t i = 0; !next.tlbs.empty() && i < replay.onward->size(); ++i)
    ask_tlbs(route, next, (*replay.onward)[i], random);
  return true;
}

void Hierarchy::pass(const Route& route, std::uint64_t address, Random& random) {
  for (const Route::Station& s : route.stations)
    if (s.unit == nullptr || s.unit->pass(address, s.tag_class, random)) return;
}

void Hierarchy::switch_away(double memory_share, Random& random) {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const CacheModel& c = model_->caches[i];
    const auto lines = static_cast<std::uint64_t>(static_cast<double>(c.size_bytes / c.line_bytes) * memory_share);
    for (auto& unit : units_[i]) {
      stop::look();
      if (!unit) continue;
      if (!is_beyond_[i]) {
        unit->clear();
        continue;
      }
      const std::uint64_t first = foreign_base + (random.bits() >> (64 - foreign_bits)) / c.line_bytes * c.line_bytes;
      for (std::uint64_t line = 0; line < lines; ++line)
        unit->access(first + line * c.line_bytes, 0, static_cast<std::uint32_t>(line % c.partitions.count), false,
                     random);
    }
  }
  for (std::size_t i = 0; i < tlbs_.size(); ++i)
    for (auto& array : tlbs_[i])
      if (array && tlbs_[i].size() > 1) array->clear();
}

void Hierarchy::intrude(Route& route, bool beyond, Random& random) {
  const std::uint64_t address = foreign_base + (random.bits() >> (64 - foreign_bits));
  for (Route::Station& s : route.stations)
    if (s.unit != nullptr && s.beyond == beyond) s.unit->access(address, s.tag_class, route.partition, false, random);
}

}  // namespace gputopo::sim
