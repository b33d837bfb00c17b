#include "store/merge.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "catalog/catalog.hpp"

namespace gputopo::store {
namespace {

// How much an estimate tells: a value by measurement, the driver's word, a bound or a denial, nothing.
int weight(Status status) {
  switch (status) {
    case Status::measured:
      return 3;
    case Status::api:
    case Status::truth:
      return 2;
    case Status::lower_bound:
    case Status::upper_bound:
    case Status::not_supported:
      return 1;
    case Status::inconclusive:
      return 0;
  }
  return 0;
}

template <class Facts>
std::string first_lost(const Facts& stored, const Facts& fresh) {
  for (const auto& [name, fact] : stored) {
    const auto it = fresh.find(name);
    if (weight(it == fresh.end() ? Status::inconclusive : it->second.status) < weight(fact.status)) return name;
  }
  return {};
}

std::size_t known(const std::vector<CarveOut>& carve_outs) {
  return static_cast<std::size_t>(
      std::count_if(carve_outs.begin(), carve_outs.end(), [](const CarveOut& c) { return is_usable(c.usable_bytes); }));
}

bool has_check(const Topology& t, const std::string& memory) {
  return std::any_of(t.crosscheck.begin(), t.crosscheck.end(), [&](const auto& c) { return c.memory == memory; });
}

// What is known of a memory and isn't any more in another result for it; empty where nothing is.
std::string lost(const Topology& stored, const Memory& before, const Topology& run, const Memory& now) {
  if (std::string name = first_lost(before.attributes, now.attributes); !name.empty()) return name;
  if (std::string name = first_lost(before.structure, now.structure); !name.empty()) return name;
  if (!before.sm_groups.empty() && now.sm_groups.empty()) return "sm_groups";
  if (!before.warp_instances.empty() && now.warp_instances.empty()) return "warp_instances";
  if (!before.disturbance.empty() && now.disturbance.empty()) return "disturbance";
  if (known(before.carve_outs) > known(now.carve_outs)) return "carve_outs";
  if (has_check(stored, before.id) && !has_check(run, now.id)) return "check against counters";
  return {};
}

// Why the stored memory stays; empty where the run's takes its place.
std::string objection_to_merging(const Topology& stored, const Memory& before, const Topology& run, const Memory& now) {
  const Grade grade_before = grade_of(stored.run_of(before));
  const Grade grade_now = grade_of(run.provenance);
  if (grade_now > grade_before) return {};
  if (grade_now < grade_before)
    return grade_now == Grade::replayed ? "this run is a replay" : "this run shared the GPU";
  const std::string name = lost(stored, before, run, now);
  return name.empty() ? name : fmt::format("this run has no {}", name);
}

std::size_t place(const Memory& m) {
  const auto rows = catalog::memories();
  const auto it = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.id == m.id; });
  return static_cast<std::size_t>(it - rows.begin());
}

void merge_sharing(const Topology& stored, Topology& t) {
  for (const SharingCheck& before : stored.sharing) {
    const auto now = std::find_if(t.sharing.begin(), t.sharing.end(), [&](const SharingCheck& c) {
      return c.first == before.first && c.second == before.second;
    });
    if (now == t.sharing.end())
      t.sharing.push_back(before);
    else if (now->verdict == "inconclusive")
      *now = before;
  }
}

std::size_t labels(const std::vector<SmPlace>& places) {
  std::size_t count = 0;
  for (const SmPlace& p : places)
    for (const auto* label : {&p.tpc, &p.cpc, &p.gpc, &p.l2_partition}) count += label->has_value() ? 1 : 0;
  return count;
}

// The provenance of every run that a memory is still from.
void keep_runs(const Topology& stored, Topology& t) {
  std::set<std::string> dates;
  for (const Memory& m : t.memories)
    if (!m.created.empty()) dates.insert(m.created);
  t.earlier_runs.clear();
  for (const Provenance& run : stored.earlier_runs)
    if (dates.contains(run.created)) t.earlier_runs.push_back(run);
  if (dates.contains(stored.provenance.created)) t.earlier_runs.push_back(stored.provenance);
}

}  // namespace

Grade grade_of(const Provenance& run) {
  if (run.device == "replay") return Grade::replayed;
  return was_shared(run) ? Grade::shared : Grade::undisturbed;
}

Merged merge(const Topology& stored, const Topology& run, bool replace) {
  Merged merged{run, {}, true};
  Topology& t = merged.topology;
  std::set<std::string> kept;
  for (Memory before : stored.memories) {
    const std::string date = stored.run_of(before).created;
    before.created = date == run.provenance.created ? std::string() : date;
    Memory* now = t.find(before.id);
    if (now == nullptr) {
      kept.insert(before.id);
      t.memories.push_back(std::move(before));
    } else if (std::string why = objection_to_merging(stored, before, run, *now); !replace && !why.empty()) {
      kept.insert(before.id);
      merged.kept.push_back({before.id, date, std::move(why)});
      *now = std::move(before);
    }
  }
  const bool any_of_the_run =
      std::any_of(t.memories.begin(), t.memories.end(), [&](const Memory& m) { return !kept.contains(m.id); });
  if (!any_of_the_run) return {stored, std::move(merged.kept), false};
  std::stable_sort(t.memories.begin(), t.memories.end(),
                   [](const Memory& a, const Memory& b) { return place(a) < place(b); });
  std::erase_if(t.crosscheck, [&](const CrossCheck& c) { return kept.contains(c.memory); });
  for (const CrossCheck& c : stored.crosscheck)
    if (kept.contains(c.memory)) t.crosscheck.push_back(c);
  merge_sharing(stored, t);
  if (labels(t.sm_places) < labels(stored.sm_places)) t.sm_places = stored.sm_places;
  keep_runs(stored, t);
  return merged;
}

}  // namespace gputopo::store
