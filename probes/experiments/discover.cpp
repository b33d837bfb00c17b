#include "experiments/discover.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "device/provenance.hpp"
#include "evidence/inference/beyond_sms.hpp"
#include "evidence/inference/estimates.hpp"
#include "experiments/registry.hpp"

namespace gputopo::experiments {
namespace {

using Clock = std::chrono::steady_clock;
using evidence::Disturbance;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What couldn't be had on a busy GPU, or needs more than this one has, is open; the rest goes on. So is what a
// recording lacks, which was made before an experiment changed, unless it lacks even what is asked for first: then it
// was made with other options.
bool leaves_quantity_open(const Error& error, const Session& session) {
  if (session.info().kind != "replay")
    return error.kind == Error::Kind::unavailable || error.kind == Error::Kind::bad_input;
  return error.kind == Error::Kind::unavailable && session.disturbance().programs != 0;
}

void leave_open(const Experiment& experiment, const Error& error, Findings& findings) {
  for (const std::string_view id : experiment.memories) {
    Memory& memory = findings.memory(id);
    if (experiment.part != Part::structure) evidence::set_open(memory, experiment.name, error.message);
  }
  auto& notes = findings.topology.provenance.notes;
  notes.push_back(fmt::format("{}: {}", experiment.name, error.message));
}

// The nearest memory behind each: what serves its misses.
void set_parents(Findings& findings) {
  Topology& t = findings.topology;
  const auto status_of = [&](std::string_view id) {
    const Memory* m = t.find(id);
    const Estimate* latency = m == nullptr ? nullptr : m->find("latency");
    return latency == nullptr ? Status::not_supported : latency->status;
  };
  for (Memory& m : t.memories) {
    const catalog::MemoryRow* row = catalog::find_memory(m.id);
    if (row == nullptr || m.kind != Kind::cache) continue;
    const auto may_be = [&](std::string_view id) { return status_of(id) != Status::not_supported; };
    m.parent = catalog::nearest_parent(*row, may_be);
    const Estimate* size = t.find(m.parent) == nullptr ? nullptr : t.find(m.parent)->find("size");
    const bool is_told = size != nullptr && size->status == Status::api;
    const bool is_there = std::ranges::any_of(m.attributes, [](const auto& named) { return named.second.has_value(); });
    if (!is_there || (status_of(m.parent) == Status::inconclusive && !is_told))
      m.parent.clear();  // whether either is there isn't known
    const auto* cache = findings.cache(m.id);
    if (cache == nullptr) continue;
    if (cache->served_by && !m.parent.empty()) m.parent = *cache->served_by;
    if (cache->is_before_another) m.parent.clear();
  }
}

void keep_wanted(Topology& t, const std::vector<std::string>& only) {
  const auto wanted = [&](std::string_view id) {
    return only.empty() || std::find(only.begin(), only.end(), id) != only.end();
  };
  std::vector<Memory> ordered;
  for (const catalog::MemoryRow& row : catalog::memories()) {
    Memory* m = t.find(row.id);
    if (m == nullptr || !wanted(row.id) || m->attributes.empty()) continue;
    m->label = row.label;
    ordered.push_back(std::move(*m));
  }
  t.memories = std::move(ordered);
  std::erase_if(t.sharing, [&](const SharingCheck& c) {
    return !wanted(c.first) || (c.second != "instruction" && !wanted(c.second));
  });
}

void add_disturbance(const Disturbance& d, Provenance& p) {
  p.interruptions = Interruptions{d.switches, static_cast<double>(d.away_ns) / 1e6, d.programs, d.repeated, d.given_up};
  if (d.clock_changes != 0)
    p.notes.push_back(
        fmt::format("the SM clock changed while {} programs ran; they were measured again", d.clock_changes));
}

}  // namespace

std::span<const std::string_view> memory_ids() {
  static const std::vector<std::string_view> ids = [] {
    std::vector<std::string_view> list;
    for (const catalog::MemoryRow& row : catalog::memories()) list.push_back(row.id);
    return list;
  }();
  return ids;
}

namespace {

// Runs all in turn, `in_vain` of them for nothing so far. False where the clock changed for good meanwhile: levels
// found before are those of another clock. One that never stays is measured as it comes, after five times as many
// experiments as there are; after a third of them beside a busy neighbour, where one time through takes three seconds.
Expected<bool> run_all(Session& session, std::span<const Experiment* const> experiments, Findings& findings,
                       std::size_t& in_vain) {
  const std::uint32_t clocks = session.clocks_left_behind();
  session.watch_clock_anew();
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    const Experiment& e = *experiments[i];
    session.report(static_cast<double>(i) / static_cast<double>(experiments.size()), e.name);
    session.now_measuring(e.name, e.memories.empty() ? std::string_view() : e.memories.front());
    const auto start = Clock::now();
    auto ok = e.run(session, findings);
    if (!ok && !leaves_quantity_open(ok.error(), session)) return tl::unexpected<Error>(ok.error());
    if (!ok) leave_open(e, ok.error(), findings);
    findings.topology.provenance.breakdown_s.emplace_back(e.name, seconds_since(start));
    if (session.clocks_left_behind() == clocks) continue;
    const bool has_neighbours = session.disturbance().switches != 0;
    const std::size_t most = has_neighbours ? experiments.size() / 3 : 5 * experiments.size();
    if (in_vain + i + 1 > most) continue;
    in_vain += i + 1;
    return false;
  }
  return true;
}

// By which method a memory's quantity was found; empty where the curve is about none.
std::string method_of(const Memory& memory, std::string_view quantity) {
  // Where the driver told a size, what was measured stands beside it.
  const Estimate* e = memory.find(quantity);
  if (e != nullptr && e->status == Status::api) e = memory.find(fmt::format("measured_{}", quantity));
  if (e != nullptr) return e->method;
  const auto statement = memory.structure.find(std::string(quantity));
  return statement == memory.structure.end() ? "" : statement->second.method;
}

// What experiments handed to the session, and for each cache what tells its hits from misses; of memories that are
// reported.
std::vector<DecidingCurve> curves_of(Session& session, const Findings& findings) {
  for (const auto& [id, cache] : findings.caches)
    if (cache.present && !cache.levels.hit.empty() && !cache.levels.next.empty()) {
      DecidingCurve curve = evidence::curve_of(cache.levels);
      curve.memory = id;
      curve.source = id + ".levels";
      session.keep(std::move(curve));
    }
  std::vector<DecidingCurve> curves;
  for (const Memory& m : findings.topology.memories)
    for (const DecidingCurve& c : session.curves())
      if (c.memory == m.id) {
        curves.push_back(c);
        curves.back().method = method_of(m, c.quantity);
      }
  return curves;
}

}  // namespace

Expected<Topology> discover(device::Device& device, const DiscoverOptions& options) {
  for (const std::string& id : options.only)
    if (catalog::find_memory(id) == nullptr)
      return fail(Error::Kind::bad_input,
                  fmt::format("unknown memory '{}'; known are {}", id, fmt::join(memory_ids(), ", ")));
  const auto begin = Clock::now();
  Session session(device,
                  {options.seed, options.method == Method::thesis, options.progress, options.stop, options.deep});
  const auto experiments = plan(options.only, options.extras, options.deep, session.info().may_run_beside_others);
  Findings findings;
  std::size_t in_vain = 0;
  for (bool finished = false; !finished;) {
    findings = {};
    findings.topology.gpu = session.info().gpu;
    findings.topology.provenance = device::provenance_of(session.info(), options.seed);
    findings.topology.provenance.method = options.method == Method::thesis ? "thesis" : "default";
    const auto ran = run_all(session, experiments, findings, in_vain);
    if (!ran) return tl::unexpected<Error>(ran.error());
    finished = *ran;
  }
  Topology& t = findings.topology;
  set_parents(findings);
  keep_wanted(t, options.only);
  add_disturbance(session.disturbance(), t.provenance);
  if (device.is_shared() || (session.info().may_run_beside_others && findings.others_fill_l2))
    evidence::bound_what_others_take(t);
  if (findings.others_may_copy) evidence::bound_what_copies_take(t);
  if (session.disturbance().switches != 0 && session.disturbance().clock_changes != 0)
    evidence::open_what_clocks_change(t);
  evidence::state_clock(t, session.clock());
  if (options.curves != nullptr) *options.curves = curves_of(session, findings);
  session.report(1, "done");
  t.provenance.duration_s = seconds_since(begin);
  return std::move(t);
}

}  // namespace gputopo::experiments
