#include "experiments/constant_l1_5.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "experiments/estimates.hpp"
#include "experiments/fetch_granularity.hpp"
#include "experiments/line_size.hpp"
#include "experiments/modes.hpp"
#include "experiments/size_search.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;
using program::Walk;

constexpr CachePath path = constant_l1_5_path;

// A cache that a group of SMs shares isn't empty at launch: one that replaces lines at random takes many laps to let go
// of what was there.
constexpr std::uint32_t settling_laps = 24;

constexpr std::uint32_t most_banks = 7;  // of other modules, to push constants out

std::uint64_t bytes_of(const Memory& memory, std::string_view attribute, std::uint64_t otherwise) {
  const Estimate* e = memory.find(attribute);
  return e != nullptr && e->has_value() ? static_cast<std::uint64_t>(*e->value) : otherwise;
}

ConstantL15 absent(ConstantL15 cache, std::string_view why) {
  auto& attributes = cache.memory.attributes;
  for (const char* name : {"size", "line_size", "sector_size"}) attributes[name] = not_supported("B", why);
  for (const char* name : {"latency", "miss_penalty"}) attributes[name] = not_supported("cycles", why);
  return cache;
}

struct Cold {
  Estimate sector;
  Estimate miss_penalty;
};

// How constants get out of the cache: the bank's first `near_bytes` by the `far_bytes` behind them, by code and by the
// banks of other modules.
struct Eviction {
  std::uint64_t near_bytes = 0;
  std::uint64_t far_bytes = 0;
  std::uint64_t code_bytes = 0;
  std::uint32_t other_banks = 0;
  std::uint32_t far_laps = 4;
};

// No more than half of the L2 holds: what is pushed out of this cache should be found there. By code where that runs,
// else, or where code has a cache of its own, by `other_banks`.
Eviction strong_eviction(const device::DeviceInfo& info, bool by_banks) {
  const std::uint64_t bank = info.constant_bytes_per_module;
  Eviction e{bank / 4, bank - bank / 4};
  const std::uint64_t room = info.l2_bytes == 0 ? info.execute_limit_bytes : info.l2_bytes / 2;
  if (!by_banks && info.has_execute) e.code_bytes = std::min(info.execute_limit_bytes, room);
  const auto banks = static_cast<std::uint32_t>(info.l2_bytes == 0 ? most_banks : info.l2_bytes / 2 / bank);
  if (by_banks && info.constant_modules > 1) e.other_banks = std::min({info.constant_modules - 1, most_banks, banks});
  return e;
}

// All there is, and for as long as a cache that replaces lines at random takes, wherever the near constants are found
// then.
Eviction full_eviction(const device::DeviceInfo& info) {
  Eviction e = strong_eviction(info, false);
  e.code_bytes = info.has_execute ? info.execute_limit_bytes : 0;
  e.other_banks = info.constant_modules > 1 ? std::min(info.constant_modules - 1, most_banks) : 0;
  e.far_laps = settling_laps;
  return e;
}

// Walks that push the near constants out.
void add_eviction(program::Program& p, const device::DeviceInfo& info, std::uint64_t stride, const Eviction& eviction) {
  Walk far = make_walk(path, eviction.far_bytes, stride, eviction.far_laps);
  far.first_byte = eviction.near_bytes;
  p.phases.emplace_back(far);
  if (eviction.code_bytes != 0) {
    program::Execute code;
    code.code_bytes = eviction.code_bytes;
    code.laps = 2;
    p.phases.emplace_back(code);
  }
  const auto first_bank = static_cast<std::uint32_t>(slot_constant) + 1;
  for (std::uint32_t i = 0; i < eviction.other_banks; ++i) {
    Walk other = make_walk(path, info.constant_bytes_per_module, stride, 2);
    other.buffer = first_bank + i;
    p.phases.emplace_back(other);
  }
}

// Constants that no cache of this path holds any more, but the next level does: pushed out, loaded from afar once (so
// that they come by the next level), and pushed out again. From each of `sms`, or from one that the device picks if
// there are none.
Expected<Cold> measure_cold(Session& session, std::uint64_t stride, const ConstantLevel& level,
                            const Eviction& eviction, const std::vector<std::uint32_t>& sms = {}) {
  const std::uint64_t near = eviction.near_bytes;
  const device::DeviceInfo& info = session.info();
  program::Program p = make_program("constant_l1_5 cold", info, slot_constant);
  p.isolation = Scope::gpu;
  for (std::uint32_t i = 1; i <= eviction.other_banks; ++i)
    p.buffers.push_back({program::Space::constant, info.constant_bytes_per_module, i});
  add_eviction(p, info, stride, eviction);
  p.phases.emplace_back(make_walk(path, near, stride, 1));
  add_eviction(p, info, stride, eviction);
  p.phases.emplace_back(recorded(make_walk(path, near, stride, 1), Record::latencies, 1));
  program::Batch batch(std::max<std::size_t>(1, sms.size()), p);
  for (std::size_t i = 0; i < sms.size(); ++i) batch[i].agents = {{sms[i], 0}};
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  Cold cold;
  cold.sector = fetch_granularity_of(traces->front().phases.back().latencies, stride, level.threshold_cycles);
  Histogram misses;
  for (const auto& trace : *traces)
    for (const std::uint32_t cycles : trace.phases.back().latencies)
      if (cycles >= level.threshold_cycles) misses = merged(misses, Histogram{{cycles, 1}});
  if (total(misses) < 8) {
    cold.miss_penalty = inconclusive("cycles", "miss_latency", "too few constants could be pushed out of the cache");
    return cold;
  }
  cold.miss_penalty = penalty_of(lowest_mode(misses), level.timed.centre, total(misses));
  return cold;
}

// Some of the SMs, on every side of the chip whether sides take turns or halves of the numbers.
std::vector<std::uint32_t> some_sms(std::uint32_t sm_count) {
  constexpr std::uint32_t most = 16;
  constexpr std::uint32_t turns = 4;
  const std::uint32_t n = std::min(most, sm_count);
  std::vector<std::uint32_t> sms;
  for (std::uint32_t i = 0; i < n; ++i)
    sms.push_back((i * sm_count / n + (sm_count > most ? i % turns : 0)) % sm_count);
  return sms;
}

// Whether what took `cycles` was found no nearer than in the far side of the L2.
bool seems_far(const L2& l2, double cycles) {
  const Estimate* far = l2.memory.find("far_latency");
  return far != nullptr && far->has_value() && cycles > (l2.latency_cycles + *far->value) / 2;
}

}  // namespace

// More than the L1 in a circle: (almost) no load hits L1. Three times the L1 leaves no doubt even where it replaces at
// random, but a small cache behind it may not hold that; so the fastest level of several footprints counts.
Expected<ConstantLevel> measure_constant_level(Session& session, const SmCache& l1, std::uint64_t stride) {
  constexpr std::array<std::uint64_t, 3> halves{3, 4, 6};  // of the L1
  program::Batch batch;
  for (const std::uint64_t h : halves) {
    program::Program p = make_program("constant_l1_5 latency", session.info(), slot_constant);
    p.isolation = Scope::gpu;
    const std::uint64_t bytes = std::min(session.info().constant_bytes_per_module, h * l1.capacity_bytes / 2);
    const Walk warm = make_walk(path, bytes, stride, settling_laps);
    p.phases = {warm, recorded(warm, Record::histogram, 8)};
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  ConstantLevel level;
  Histogram beyond;
  for (const auto& trace : *traces)
    beyond = merged(beyond, between(trace.phases.back().histogram, l1.threshold_cycles, 1e9));
  level.timed = lowest_mode(beyond);
  level.latency_cycles = level.timed.centre - l1.hit.overhead_cycles;
  const double spread = level.timed.high_quartile - level.timed.low_quartile;
  level.threshold_cycles = level.timed.median + std::max({10.0, 0.3 * level.latency_cycles, 4 * spread});
  return level;
}

Expected<ConstantL15> measure_constant_l1_5(Session& session, const SmCache& l1, const L2& l2) {
  ConstantL15 cache;
  Memory& memory = cache.memory;
  memory.id = path.id;
  memory.label = path.label;
  memory.physical_cache = path.id;
  auto& attributes = memory.attributes;
  if (!l1.present) return absent(cache, "there is no constant L1 in front of it");
  const std::uint64_t bank = session.info().constant_bytes_per_module;
  if (l1.capacity_bytes == 0 || 3 * l1.capacity_bytes > bank) {
    attributes["size"] = inconclusive("B", "doubling", "needs the size of the constant L1");
    return cache;
  }
  const std::uint64_t stride = bytes_of(l1.memory, "line_size", 64);
  const std::uint64_t fetch = bytes_of(l1.memory, "sector_size", stride);  // the finest that this level can see
  auto level = measure_constant_level(session, l1, stride);
  if (!level) return tl::unexpected<Error>(level.error());
  if (level->timed.share == 0) return absent(cache, "no constant load misses the L1");
  if (l2.latency_cycles > 0 && level->latency_cycles > 0.9 * l2.latency_cycles)
    return absent(cache, "constants that miss L1 are as slow as loads past it: there is no level between");
  attributes["latency"] = measured(level->latency_cycles, "cycles", "timed_hits", l1.capacity_bytes * 8 * 3 / stride);
  attributes["latency"].interval = penalty_of(level->timed, l1.hit.overhead_cycles, 0).interval;
  auto cold = measure_cold(session, fetch, *level, strong_eviction(session.info(), !session.info().has_execute));
  if (!cold) return tl::unexpected<Error>(cold.error());
  if (!cold->sector.has_value() && session.info().has_execute && session.info().constant_modules > 1) {
    cold = measure_cold(session, fetch, *level, strong_eviction(session.info(), true));
    if (!cold) return tl::unexpected<Error>(cold.error());
  }
  // A large cache that replaces lines at random keeps some of them through all that half of a small L2 holds.
  if (!cold->sector.has_value()) {
    auto fully = measure_cold(session, fetch, *level, full_eviction(session.info()));
    if (!fully) return tl::unexpected<Error>(fully.error());
    cold->sector = fully->sector;
  }
  const Estimate& sector = attributes["sector_size"] = cold->sector;
  attributes["miss_penalty"] = cold->miss_penalty;
  // The cheaper of several is the next level's: other walks lay on its far side, or had been pushed out of it as well.
  const auto keep_cheaper = [&](const Estimate& other) {
    Estimate& penalty = attributes["miss_penalty"];
    if (other.has_value() && (!penalty.has_value() || *other.value < 0.9 * *penalty.value)) penalty = other;
  };
  Eviction weaker = strong_eviction(session.info(), !session.info().has_execute);
  weaker.code_bytes /= 4;
  weaker.other_banks /= 4;
  auto weakly = measure_cold(session, fetch, *level, weaker);
  if (!weakly) return tl::unexpected<Error>(weakly.error());
  keep_cheaper(weakly->miss_penalty);
  if (!weakly->miss_penalty.has_value()) {
    // Too weak to push anything out, while the strong one pushes it further than the next level: something between.
    for (const std::uint32_t banks : {1U, 2U}) {
      const Eviction e = strong_eviction(session.info(), true);
      auto between =
          measure_cold(session, fetch, *level, {e.near_bytes, e.far_bytes, 0, std::min(banks, e.other_banks)});
      if (!between) return tl::unexpected<Error>(between.error());
      keep_cheaper(between->miss_penalty);
    }
  }

  const std::uint64_t step = sector.has_value() ? static_cast<std::uint64_t>(*sector.value) : stride;
  SearchSpec spec{path, step, 3 * l1.capacity_bytes / 2 / step * step, bank, level->threshold_cycles, Scope::gpu};
  spec.warm_laps = settling_laps;
  spec.front_line_bytes = stride;
  auto bracket = search_by_doubling(session, spec);
  if (!bracket) return tl::unexpected<Error>(bracket.error());
  auto found = narrow(session, spec, *bracket, step);
  if (found) found = settled(session, spec, *found);
  if (found && sector.has_value()) found = without_own_lines(session, spec, *found);
  if (!found) return tl::unexpected<Error>(found.error());
  attributes["size"] = to_estimate(*found, "B");
  // Own lines are told by misses a line, of a line that is known.
  if (!sector.has_value() && found->verdict == change_point::Verdict::value) {
    attributes["size"].status = Status::lower_bound;
    attributes["size"].value = found->low;
    attributes["size"].interval.reset();
    attributes["size"].note = "the kernel's own constants and code may take room, which can't be told without the line";
  }
  // The kernel's own code and constants take room here: what misses at the bank's very end may be theirs alone.
  constexpr double own_bytes = 2048;
  if (found->verdict == change_point::Verdict::value && found->value > static_cast<double>(bank) - own_bytes) {
    attributes["size"].status = Status::lower_bound;
    attributes["size"].value = found->low;
    attributes["size"].interval.reset();
    attributes["size"].note = "a bank of constants ends here, and the kernel's own code and constants lie beside it";
  }
  const bool known = attributes["size"].status == Status::measured;
  const auto capacity = known ? static_cast<std::uint64_t>(found->value) : 0;
  if (known && capacity * 7 / 4 <= bank) {
    // Just enough constants to push the near ones out of this cache, but not out of the next one.
    auto gentle =
        measure_cold(session, fetch, *level, {capacity / 4, std::min(2 * capacity, bank - capacity / 4), 0, 0});
    if (!gentle) return tl::unexpected<Error>(gentle.error());
    keep_cheaper(gentle->miss_penalty);
  }
  const Estimate& penalty = attributes["miss_penalty"];
  if (penalty.has_value() && seems_far(l2, level->latency_cycles + *penalty.value)) {
    // All of few constants may lie on the far side of one SM.
    const auto sms = some_sms(session.info().gpu.sm_count);
    for (const Eviction& e : {weaker, strong_eviction(session.info(), !session.info().has_execute)}) {
      auto elsewhere = measure_cold(session, fetch, *level, e, sms);
      if (!elsewhere) return tl::unexpected<Error>(elsewhere.error());
      keep_cheaper(elsewhere->miss_penalty);
    }
  }
  attributes["line_size"] = sector;  // what one miss brings in is a whole line, as far as can be seen
  if (known && capacity * 3 / 2 <= bank) {
    auto line = measure_line_size(session, path, capacity, step, level->threshold_cycles);
    if (!line) return tl::unexpected<Error>(line.error());
    // Unequal sets can make the pattern thrash at twice the line, and nothing else would tell.
    const bool agree = sector.has_value() && line->has_value() && *line->value == *sector.value;
    if (!agree && sector.has_value() && line->has_value())
      *line = inconclusive("B", "shifted_stride",
                           fmt::format("{:.0f} B, but a miss brings in {:.0f} B", *line->value, *sector.value));
    attributes["line_size"] = *line;
  }
  cache.threshold_cycles = level->threshold_cycles;
  cache.line_bytes = bytes_of(memory, "line_size", step);
  cache.front_line_bytes = stride;
  cache.settling_laps = settling_laps;
  return cache;
}

}  // namespace gputopo::experiments
