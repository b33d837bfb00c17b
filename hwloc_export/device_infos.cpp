#include <cmath>

#include <fmt/format.h>

#include "hwloc_export/names.hpp"
#include "hwloc_export/tree.hpp"

namespace gputopo::hwloc_export {
namespace {

struct FlatName {
  const char* attribute;
  const char* suffix;
};

// Bytes and cycles; the names follow hwloc's own for other accelerators (VectorEngineL1dSize).
constexpr FlatName flat_names[] = {
    {"size", "Size"}, {"line_size", "LineSize"}, {"sector_size", "SectorSize"}, {"latency", "LatencyCycles"}};

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
    for (const FlatName& flat : flat_names) {
      const Estimate* e = m.find(flat.attribute);
      if (e != nullptr && is_usable(*e))
        infos.emplace_back("GPUTopo" + attribute_name_part(m) + flat.suffix, number_text(*e->value));
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
  if (const unsigned cores = cores_per_sm(gpu.compute_capability); cores > 0)
    infos.emplace_back("CUDACoresPerMP", fmt::format("{}", cores));
  add_kib(infos, "CUDASharedMemorySizePerMP", topology.find("shared"), with_unit);
  return infos;
}

}  // namespace gputopo::hwloc_export
