// An hwloc topology of the fixture's machine, in this process.
#pragma once

#include <fstream>
#include <hwloc.h>
#include <iterator>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "hwloc_export/export.hpp"
#include "hwloc_export/hwloc_plugins.hpp"

namespace gputopo::hwloc_export {

inline std::string two_gpus_xml() {
  std::ifstream file(GPUTOPO_SOURCE_DIR "/tests/fixtures/hwloc/two-gpus.xml");
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Filters {
  hwloc_type_filter_e io = HWLOC_TYPE_FILTER_KEEP_ALL;
  hwloc_type_filter_e misc = HWLOC_TYPE_FILTER_KEEP_ALL;
};

class Loaded {
 public:
  explicit Loaded(const std::string& xml = two_gpus_xml(), Filters filters = {}) {
    hwloc_topology_init(&topology_);
    hwloc_topology_set_io_types_filter(topology_, filters.io);
    hwloc_topology_set_type_filter(topology_, HWLOC_OBJ_MISC, filters.misc);
    EXPECT_EQ(hwloc_topology_set_xmlbuffer(topology_, xml.c_str(), static_cast<int>(xml.size() + 1)), 0);
    EXPECT_EQ(hwloc_topology_load(topology_), 0);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() { hwloc_topology_destroy(topology_); }

  hwloc_topology_t get() const { return topology_; }

  Annotation annotated(const Topology& gpu, unsigned index = 0, bool under_root = false) {
    Target target;
    target.pci_bus_id = gpu.provenance.simulated ? "" : gpu.gpu.pci_bus_id;
    target.cuda_index = index;
    target.parent_without_pci = under_root ? hwloc_get_root_obj(topology_) : nullptr;
    const auto done = annotate(topology_, gpu, target);
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_EQ(hwloc_topology_reconnect(topology_, 0), 0);
    hwloc_topology_check(topology_);
    return done ? *done : Annotation{};
  }

  std::string xml() const {
    char* buffer = nullptr;
    int length = 0;
    EXPECT_EQ(hwloc_topology_export_xmlbuffer(topology_, &buffer, &length, 0), 0);
    std::string text = buffer != nullptr ? buffer : "";
    hwloc_free_xmlbuffer(topology_, buffer);
    return text;
  }

  unsigned count(int depth) const { return hwloc_get_nbobjs_by_depth(topology_, depth); }
  unsigned misc_count() const { return count(HWLOC_TYPE_DEPTH_MISC); }
  unsigned device_count() const { return count(HWLOC_TYPE_DEPTH_OS_DEVICE); }

 private:
  hwloc_topology_t topology_ = nullptr;
};

inline std::string info(hwloc_obj_t object, const char* name) {
  const char* value = object != nullptr ? hwloc_obj_get_info_by_name(object, name) : nullptr;
  return value != nullptr ? value : "";
}

}  // namespace gputopo::hwloc_export
