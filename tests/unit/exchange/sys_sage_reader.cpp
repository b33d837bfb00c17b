// Reads a file with sys-sage's own parser: sys_sage_reader FILE.json
#include <cstdio>
#include <vector>

#include "Cache.hpp"
#include "Chip.hpp"
#include "Component.hpp"
#include "Topology.hpp"
#include "parsers/mt4g.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sys_sage::Topology topology;
  auto* gpu = new sys_sage::Chip(&topology, 0, "GPU", sys_sage::ChipType::Gpu);
  if (sys_sage::ParseMt4g_v1_x(gpu, argv[1]) != 0) return 1;
  std::vector<sys_sage::Component*> caches;
  gpu->FindDescendantsByType(&caches, sys_sage::ComponentType::Cache);
  for (const sys_sage::Component* component : caches) {
    const auto* cache = static_cast<const sys_sage::Cache*>(component);
    std::printf("%s %lld\n", cache->GetCacheName().c_str(), static_cast<long long>(cache->GetCacheSize()));
  }
  return 0;
}
