#include <cmath>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "catalog/limits.hpp"
#include "hwloc_export/names.hpp"
#include "hwloc_export/tree.hpp"

namespace gputopo::hwloc_export {
namespace {

void add_kib(std::vector<Info>& infos, const char* name, const Memory* memory, bool with_unit) {
  const Estimate* size = memory != nullptr ? memory->find("size") : nullptr;
  if (size == nullptr || !is_usable(*size)) return;
  constexpr double kib = 1024;
  infos.emplace_back(name, fmt::format("{:.0f}{}", std::floor(*size->value / kib), with_unit ? "KiB" : ""));
}

}  // namespace

std::vector<Info> flat_infos(const Topology& topology) {
  const Provenance& provenance = topology.provenance;
  std::vector<Info> infos;
  if (!topology.gpu.uuid.empty()) infos.emplace_back("GPUTopoUUID", topology.gpu.uuid);
  infos.emplace_back("GPUTopoVersion", provenance.tool_version);
  infos.emplace_back("GPUTopoSource", provenance.simulated ? "simulated" : provenance.device);
  if (!provenance.created.empty()) infos.emplace_back("GPUTopoCreated", provenance.created);
  for (const Memory& m : topology.memories)
    for (const catalog::AttributeRow& row : catalog::attributes()) {
      const Estimate* e = row.hwloc_flat.empty() ? nullptr : m.find(row.id);
      if (e != nullptr && is_usable(*e))
        infos.emplace_back(fmt::format("GPUTopo{}{}", attribute_name_part(m), row.hwloc_flat), number_text(*e->value));
    }
  return infos;
}

std::vector<Info> device_infos(const Topology& topology, bool with_unit) {
  const Gpu& gpu = topology.gpu;
  std::vector<Info> infos{{"GPUVendor", "NVIDIA Corporation"}};
  const bool says_so = gpu.name.find("simulated") != std::string::npos;
  infos.emplace_back("GPUModel", gpu.name + (topology.provenance.simulated && !says_so ? " (simulated)" : ""));
  add_kib(infos, "CUDAGlobalMemorySize", topology.find("device_memory"), with_unit);
  add_kib(infos, "CUDAL2CacheSize", topology.find("l2"), with_unit);
  if (gpu.sm_count > 0) infos.emplace_back("CUDAMultiProcessors", fmt::format("{}", gpu.sm_count));
  if (const auto cores = catalog::published_limits(gpu.compute_capability).cores_per_sm; cores > 0)
    infos.emplace_back("CUDACoresPerMP", fmt::format("{}", cores));
  add_kib(infos, "CUDASharedMemorySizePerMP", topology.find("shared"), with_unit);
  return infos;
}

}  // namespace gputopo::hwloc_export
