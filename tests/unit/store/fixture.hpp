// A folder that goes away, and a small topology to keep in it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "store/environment.hpp"
#include "topology/json.hpp"
#include "topology/topology.hpp"

namespace gputopo::store {

inline constexpr const char* test_uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
inline constexpr const char* test_driver = "580.159.04";

inline Topology small_topology() {
  Topology t;
  t.provenance.device = "cuda";
  t.provenance.driver_version = test_driver;
  t.gpu.name = "NVIDIA Test";
  t.gpu.uuid = test_uuid;
  t.gpu.pci_bus_id = "0000:3b:00.0";
  t.gpu.sm_count = 4;
  Memory l2;
  l2.id = "l2";
  l2.scope = Scope::gpu;
  Estimate& size = l2.attributes["size"];
  size.value = 1048576;
  size.unit = "B";
  size.status = Status::measured;
  size.method = "residency";
  t.memories.push_back(l2);
  return t;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "gputopo-store-XXXXXX";
    path_ = mkdtemp(pattern.data());
    std::filesystem::permissions(path_, std::filesystem::perms{0755});
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline Environment environment_with(const std::string& folder) {
  Environment environment;
  environment.user = geteuid();
  environment.store = folder;
  return environment;
}

}  // namespace gputopo::store
