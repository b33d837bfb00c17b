// What serves the misses of caches whose path may pass by the L2, which is known to be one of global loads. What takes
// less than a path to memory could comes from the L2, and less than one to that from another cache; else lines are
// looked at before and after the L2 has them.
#include <optional>
#include <string>

#include "evidence/lines/emptied_l2.hpp"
#include "evidence/lines/near_and_far.hpp"
#include "evidence/looks/latency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;

constexpr std::string_view the_l2 = "l2", the_memory = "device_memory", untold;

// A path may be faster than global loads by so much of what these take to the L2 (docs/domain.md).
constexpr double most_faster = 0.4;

double value_of(const Findings& findings, std::string_view memory, std::string_view quantity) {
  const Memory* m = findings.topology.find(memory);
  const Estimate* e = m == nullptr ? nullptr : m->find(quantity);
  return e == nullptr ? 0 : e->value.value_or(0);
}

// By what its misses take: less than from memory, and by so much less than from the L2 that it's neither.
struct NextLevel {
  bool is_before_memory = false, is_before_l2 = false;
};

NextLevel next_level_of(const Findings& findings, std::string_view cache) {
  const double hit = value_of(findings, cache, "latency"), penalty = value_of(findings, cache, "miss_penalty");
  const double l2 = value_of(findings, the_l2, "latency"), memory = value_of(findings, the_memory, "latency");
  if (hit == 0 || penalty == 0 || l2 == 0) return {};
  return {hit + penalty < memory - most_faster * l2, hit + penalty < l2 - most_faster * l2};
}

// Lines that nobody has loaded, each beside another one of its page that was: with its translation, from an open row.
// Looked at, pushed out of the cache, brought into the L2 and looked at again.
Expected<std::vector<LoadPair>> time_around_the_l2(Session& session, const CacheFacts& cache) {
  constexpr std::uint64_t lines = 64, apart_bytes = 32 << 10, beside_bytes = 512, word_bytes = 4;
  constexpr std::size_t programs = 4;
  const program::Walk push =
      by_all_lanes(make_walk(cache.path, pushing_bytes(cache.capacity_bytes), cache.stride(), 1), session.info());
  program::Walk look = make_walk(cache.path, word_bytes, word_bytes, 1);
  program::Batch batch;
  for (std::size_t i = 0; i < programs; ++i) {
    program::Program p = make_program(std::string(cache.path.id) + " lines twice", session.info(), cache.path.slot);
    p.agents = {{0, 0}};
    const std::uint64_t first = session.fresh_region(cache.path.slot, lines * apart_bytes);
    for (const bool is_in_l2 : {false, true}) {
      p.phases.emplace_back(push);
      for (std::uint64_t line = 0; line < lines; ++line) {
        program::Walk beside = look;
        look.first_byte = first + line * apart_bytes;
        beside.first_byte = look.first_byte + beside_bytes;
        if (is_in_l2) p.phases.emplace_back(past_l1(look));
        p.phases.emplace_back(beside);
        p.phases.emplace_back(recorded(look, program::Record::latencies, 1));
      }
    }
    batch.push_back(std::move(p));
  }
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<LoadPair> pairs;
  for (const program::ProgramTrace& trace : *traces) {
    std::vector<std::uint32_t> looks;
    for (const program::PhaseTrace& phase : trace.phases)
      looks.insert(looks.end(), phase.latencies.begin(), phase.latencies.end());
    // The first one fetches the code of all others.
    for (std::size_t line = 1; line < looks.size() / 2; ++line)
      pairs.push_back({looks[line], looks[line + looks.size() / 2]});
  }
  return pairs;
}

// By loads before the L2 had lines, or once it had lost them, and while it has them.
std::string_view server_of(const Session& session, const CacheFacts& cache, const Histogram& without,
                           const Histogram& with) {
  if (without.empty() || with.empty()) return untold;
  if (hold_slower_loads(with, without, cache.overhead_cycles)) return the_l2;
  return are_alike(with, without, cache.overhead_cycles, session.clock_share()) ? the_memory : untold;
}

Expected<std::string_view> ask_lines(Session& session, const CacheFacts& cache) {
  const auto pairs = if_available(time_around_the_l2(session, cache));
  if (!pairs) return tl::unexpected<Error>(pairs.error());
  Histogram without, with;
  if (*pairs)
    for (const LoadPair& pair : **pairs) add(without, pair.first_cycles), add(with, pair.second_cycles);
  // Of lines that were loaded before the L2 may have had some all along.
  const std::string_view server = server_of(session, cache, without, with);
  return server == the_memory && !session.are_all_fresh(cache.path.slot) ? untold : server;
}

Expected<std::string_view> ask_constants(Session& session, Findings& findings, const CacheFacts& cache) {
  const device::DeviceInfo& info = session.info();
  const CacheFacts& l1 = *findings.cache("constant_l1");
  Eviction pushed{l1.circle_bytes(), 0, 0, 0};
  if (&cache != &l1)
    for (const Eviction& e : evictions_of(info, l1.circle_bytes(), findings.near_l2_bytes(info)))
      if (l1.circle_bytes() + e.bytes(info.constant_bytes_per_module) == cache.pushed_out_by_bytes) pushed = e;
  const auto ask = [&](std::optional<std::uint32_t> brought_by) -> Expected<std::string_view> {
    const auto timed =
        time_around_emptying(session, cache, l1.asked_bytes(), findings.cache(the_l2), pushed, brought_by);
    if (!timed) return tl::unexpected<Error>(timed.error());
    return *timed ? server_of(session, cache, (*timed)->lost, (*timed)->kept) : untold;
  };
  auto server = ask({});
  if (!server || *server != the_memory) return server;
  // The L2 may have lost them to what pushed them out: not those that another SM has just brought in. One whose caches
  // are others: else none is lost.
  constexpr std::size_t most_asked = 6;
  for (const std::uint32_t sm : spread_sms(info.gpu.sm_count, most_asked)) {
    if (sm == 0) continue;
    server = ask(sm);
    if (!server || *server != untold) return server;
  }
  return untold;
}

}  // namespace

Expected<void> measure_parents(Session& session, Findings& findings) {
  const CacheFacts* l2 = findings.cache(the_l2);
  if (l2 == nullptr || !l2->present) return {};
  const CacheFacts* behind_constants = findings.cache("constant_l1_5");
  for (const std::string_view id : {"texture", "read_only", "constant_l1", "constant_l1_5"}) {
    CacheFacts* cache = findings.cache(id);
    const bool is_before_l1_5 = id == "constant_l1" && behind_constants != nullptr && behind_constants->present;
    if (cache == nullptr || !cache->present || is_before_l1_5) continue;
    const NextLevel next = next_level_of(findings, id);
    if (next.is_before_memory && !next.is_before_l2) continue;
    cache->served_by = untold;
    if (next.is_before_l2) continue;  // a cache that has no name here
    if (findings.others_fill_l2 || cache->capacity_bytes == 0) continue;
    const bool are_constants = cache->path.slot == slot_constant;
    const auto server = are_constants ? ask_constants(session, findings, *cache) : ask_lines(session, *cache);
    if (!server) return tl::unexpected<Error>(server.error());
    cache->served_by = *server;
  }
  return {};
}

}  // namespace gputopo::experiments
