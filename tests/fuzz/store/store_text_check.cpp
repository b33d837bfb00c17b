#include "store_text_check.hpp"

#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "hwloc_export/export.hpp"
#include "hwloc_export/hwloc_plugins.hpp"
#include "json/value.hpp"
#include "store/store.hpp"
#include "topology/check.hpp"
#include "topology/json.hpp"

namespace gputopo {
namespace {

void annotate_twice(const Topology& gpu) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) std::abort();
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_synthetic(topology, "numa:1 core:1 pu:1");
  if (hwloc_topology_load(topology) != 0) std::abort();
  const hwloc_export::Target target{gpu.gpu.pci_bus_id, 0, hwloc_get_root_obj(topology)};
  const auto first = hwloc_export::annotate(topology, gpu, target);
  hwloc_topology_reconnect(topology, 0);
  hwloc_topology_check(topology);
  if (first && first->objects_added > 0) {
    const auto second = hwloc_export::annotate(topology, gpu, target);
    if (!second || second->created_device || second->objects_added + second->infos_added > 0) std::abort();
  }
  hwloc_topology_destroy(topology);
}

void check_one(std::string_view text) {
  const auto named = parse_topology(text);
  if (!named) return;
  const auto stored = store::read_stored(text, named->gpu.uuid, named->provenance.driver_version);
  if (stored && *stored != *named) std::abort();
  if (check(*named)) annotate_twice(*named);
}

}  // namespace

std::string sealed_topology(std::string_view text) {
  const auto read = json::parse(text, {.depth = 12});
  if (!read || read->find("checksum") == nullptr) return {};
  auto j = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!j.is_object()) return {};
  j["checksum"] = json::checksum_without(*read, "checksum");
  return j.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

void check_store_text(std::string_view text) {
  check_one(text);
  constexpr std::size_t worth_it = 1 << 16;
  if (text.size() > worth_it) return;
  if (const std::string fitting = sealed_topology(text); !fitting.empty()) check_one(fitting);
}

}  // namespace gputopo
