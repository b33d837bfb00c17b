#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "device/sim/reader.hpp"

namespace gputopo::sim {
namespace {

SmSets groups_of_size(std::uint32_t size, std::uint32_t sm_count) {
  SmSets groups((sm_count + size - 1) / size);
  for (std::uint32_t sm = 0; sm < sm_count; ++sm) groups[sm / size].push_back(sm);
  return groups;
}

SmSets interleaved_groups(std::uint32_t count, std::uint32_t sm_count) {
  SmSets groups(count);
  for (std::uint32_t sm = 0; sm < sm_count; ++sm) groups[sm % count].push_back(sm);
  return groups;
}

SmSets explicit_groups(const Json& j, const std::string& path, std::uint32_t sm_count) {
  SmSets groups;
  std::vector<bool> seen(sm_count, false);
  for (std::size_t g = 0; g < j.size(); ++g) {
    const std::string here = fmt::format("{}/{}", path, g);
    if (!j[g].is_array() || j[g].empty()) refuse(here, "is no list of SMs", "write a list such as [0, 1, 16, 17]");
    auto& group = groups.emplace_back();
    for (std::size_t i = 0; i < j[g].size(); ++i) {
      const auto sm = static_cast<std::uint32_t>(
          read_count(j[g][i], fmt::format("{}/{}", here, i), {0, static_cast<double>(sm_count) - 1}));
      if (seen[sm]) refuse(here, fmt::format("SM {} is already in a group", sm), "put each SM into one group");
      seen[sm] = true;
      group.push_back(sm);
    }
    std::sort(group.begin(), group.end());
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing != seen.end())
    refuse(path, fmt::format("SM {} is in no group", missing - seen.begin()), "put each SM into one group");
  return groups;
}

}  // namespace

SmSets read_grouping(Fields& fields, const char* key, std::uint32_t sm_count) {
  const Json* j = fields.find(key);
  if (j == nullptr) return {};
  const std::string path = fields.at(key);
  const Range range{1, static_cast<double>(sm_count)};
  if (j->is_number()) return groups_of_size(static_cast<std::uint32_t>(read_count(*j, path, range)), sm_count);
  if (j->is_array()) return explicit_groups(*j, path, sm_count);
  if (!j->is_object())
    refuse(path, "is no grouping", "write a group's size, a list of lists of SMs, or {\"interleaved\": groups}");
  Fields regular(*j, path);
  const Json& count = regular.require("interleaved", "write {\"interleaved\": groups}, for SM modulo groups");
  regular.finish();
  return interleaved_groups(static_cast<std::uint32_t>(read_count(count, regular.at("interleaved"), range)), sm_count);
}

void read_groups(Fields& root, Model& model) {
  const Json* j = root.find("groups");
  if (j == nullptr) return;
  Fields fields(*j, root.at("groups"));
  model.groups.tpc = read_grouping(fields, "tpc", model.gpu.sm_count);
  model.groups.cpc = read_grouping(fields, "cpc", model.gpu.sm_count);
  model.groups.gpc = read_grouping(fields, "gpc", model.gpu.sm_count);
  model.groups.partition = read_grouping(fields, "partition", model.gpu.sm_count);
  model.groups.cluster = read_grouping(fields, "cluster", model.gpu.sm_count);
  fields.finish();
}

SmSets sm_groups(const Model& model, Scope scope) {
  switch (scope) {
    case Scope::sm:
      return groups_of_size(1, model.gpu.sm_count);
    case Scope::tpc:
      return model.groups.tpc;
    case Scope::cpc:
      return model.groups.cpc;
    case Scope::gpc:
      return model.groups.gpc;
    case Scope::partition:
      return model.groups.partition;
    case Scope::gpu:
    case Scope::group:  // no model has groups without a name
      break;
  }
  return groups_of_size(model.gpu.sm_count, model.gpu.sm_count);
}

SmSets sharing_sets(const Model& model, const CacheModel& cache) {
  return cache.shared_by.empty() ? sm_groups(model, cache.scope) : cache.shared_by;
}

SmSets sharing_sets(const Model& model, const TlbModel& tlb) {
  return tlb.shared_by.empty() ? sm_groups(model, tlb.scope) : tlb.shared_by;
}

bool is_beyond_sms(const Model& model, std::size_t cache) {
  const CacheModel& c = model.caches[cache];
  if (c.shared_by.empty() && c.scope == Scope::gpu) return true;
  const auto& path = model.path(program::Path::global_l2_only);
  return path && std::any_of(path->begin(), path->end(), [&](const Level& level) { return level.cache == cache; });
}

}  // namespace gputopo::sim
