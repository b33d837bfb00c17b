#include "hwloc_export/export.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "hwloc_export/compat.hpp"
#include "hwloc_export/names.hpp"
#include "hwloc_export/tree.hpp"
#include "topology/check.hpp"

namespace gputopo::hwloc_export {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};
using CopiedText = std::unique_ptr<char, Free>;

bool keeps(hwloc_topology_t topology, hwloc_obj_type_t type) {
  hwloc_type_filter_e filter = HWLOC_TYPE_FILTER_KEEP_NONE;
  return hwloc_topology_get_type_filter(topology, type, &filter) == 0 && filter != HWLOC_TYPE_FILTER_KEEP_NONE;
}

bool is_text(const char* text, const std::string& expected) {
  return text != nullptr && expected == text;
}

bool has_info(hwloc_obj_t obj, const char* name, const std::string& value) {
  return is_text(hwloc_obj_get_info_by_name(obj, name), value);
}

bool is_cuda_device(hwloc_obj_t obj) {
  return obj->type == HWLOC_OBJ_OS_DEVICE && obj->subtype != nullptr && std::strcmp(obj->subtype, "CUDA") == 0;
}

class Annotator {
 public:
  Annotator(hwloc_topology_t topology, const Topology& gpu, const Target& target)
      : topology_(topology), gpu_(gpu), target_(target) {}

  Annotation run() {
    if (!keeps(topology_, HWLOC_OBJ_OS_DEVICE)) return done_;
    // Components that ran before may have left the levels, which every search walks, out of date.
    hwloc_topology_reconnect(topology_, 0);
    if (!target_.pci_bus_id.empty()) pci_ = hwloc_get_pcidev_by_busidstring(topology_, target_.pci_bus_id.c_str());
    done_.device = find_device();
    if (done_.device == nullptr) done_.device = create_device();
    if (done_.device == nullptr) return done_;
    if (hwloc_obj_get_info_by_name(done_.device, "GPUTopoSource") == nullptr)
      for (const auto& [name, value] : flat_infos(gpu_)) done_.infos_added += add_info(done_.device, name, value);
    if (keeps(topology_, HWLOC_OBJ_MISC) && !has_memories()) {
      const Identity identity{device_name(), target_.pci_bus_id, gpu_.gpu.uuid};
      for (const Node& node : build_tree(gpu_, identity)) add_node(done_.device, node);
    }
    return done_;
  }

 private:
  std::string device_name() const { return done_.device->name != nullptr ? done_.device->name : ""; }

  // The name of a GPU that has no UUID, a simulated one.
  std::string model() const {
    for (const auto& [name, value] : device_infos(gpu_, info_sizes_have_units))
      if (name == "GPUModel") return value;
    return {};
  }

  hwloc_obj_t find_device() {
    if (pci_ != nullptr)
      for (hwloc_obj_t child = pci_->io_first_child; child != nullptr; child = child->next_sibling)
        if (is_cuda_device(child)) return child;
    for (hwloc_obj_t device = hwloc_get_next_osdev(topology_, nullptr); device != nullptr;
         device = hwloc_get_next_osdev(topology_, device)) {
      if (!is_cuda_device(device)) continue;
      const bool is_same = gpu_.gpu.uuid.empty() ? has_info(device, "GPUModel", model())
                                                 : has_info(device, "GPUTopoUUID", gpu_.gpu.uuid);
      if (is_same) return device;
      if (hwloc_obj_get_info_by_name(device, "GPUTopoSource") == nullptr) others_list_cuda_ = true;
    }
    return nullptr;
  }

  bool is_taken(const std::string& name) const {
    for (hwloc_obj_t device = hwloc_get_next_osdev(topology_, nullptr); device != nullptr;
         device = hwloc_get_next_osdev(topology_, device))
      if (is_text(device->name, name)) return true;
    return false;
  }

  hwloc_obj_t create_device() {
    hwloc_obj_t parent = pci_ != nullptr ? pci_ : target_.parent_without_pci;
    // Where hwloc's CUDA backend lists devices, a GPU that it left out is hidden from CUDA: another number for it would
    // mislead. A simulated GPU hides nothing.
    if (parent == nullptr || (others_list_cuda_ && !gpu_.provenance.simulated)) return nullptr;
    unsigned index = target_.cuda_index;
    while (is_taken(fmt::format("cuda{}", index))) ++index;
    const std::vector<Info> infos = device_infos(gpu_, info_sizes_have_units);  // may throw, see new_object
    hwloc_obj_t device = new_object(HWLOC_OBJ_OS_DEVICE, "CUDA", fmt::format("cuda{}", index));
    if (device == nullptr) return nullptr;
    make_coprocessor(device);
    add_info(device, "Backend", "GPUTopo");
    for (const auto& [name, value] : infos) add_info(device, name, value);
    hwloc_insert_object_by_parent(topology_, parent, device);
    hwloc_topology_reconnect(topology_, 0);
    done_.created_device = true;
    return device;
  }

  // Looked for everywhere: hwloc moves Misc objects to the machine where a reader drops their device.
  bool has_memories() const {
    for (hwloc_obj_t misc = hwloc_get_next_obj_by_depth(topology_, HWLOC_TYPE_DEPTH_MISC, nullptr); misc != nullptr;
         misc = hwloc_get_next_obj_by_depth(topology_, HWLOC_TYPE_DEPTH_MISC, misc)) {
      if (hwloc_obj_get_info_by_name(misc, "GPUTopoId") == nullptr) continue;
      const bool is_same =
          gpu_.gpu.uuid.empty() ? has_info(misc, "GPUDevice", device_name()) : has_info(misc, "UUID", gpu_.gpu.uuid);
      if (is_same) return true;
    }
    return false;
  }

  void add_node(hwloc_obj_t parent, const Node& node) {
    hwloc_obj_t object = new_object(HWLOC_OBJ_MISC, node.subtype, node.name);
    if (object == nullptr) return;
    for (const auto& [name, value] : node.infos) add_info(object, name, value);
    hwloc_insert_object_by_parent(topology_, parent, object);
    ++done_.objects_added;
    for (const Node& child : node.children) add_node(object, child);
  }

  // hwloc has no way to give an object back, so what it needs is there before it is made. nullptr without memory.
  hwloc_obj_t new_object(hwloc_obj_type_t type, const std::string& subtype, const std::string& name) const {
    CopiedText object_subtype(strdup(subtype.c_str())), object_name(strdup(name.c_str()));
    if (!object_subtype || !object_name) return nullptr;
    hwloc_obj_t object = hwloc_alloc_setup_object(topology_, type, HWLOC_UNKNOWN_INDEX);
    if (object == nullptr) return nullptr;
    object->subtype = object_subtype.release();
    object->name = object_name.release();
    return object;
  }

  static unsigned add_info(hwloc_obj_t object, const std::string& name, const std::string& value) {
    return hwloc_obj_add_info(object, name.c_str(), value.c_str()) == 0 ? 1 : 0;
  }

  hwloc_topology_t topology_;
  const Topology& gpu_;
  const Target& target_;
  hwloc_obj_t pci_ = nullptr;
  bool others_list_cuda_ = false;
  Annotation done_;
};

}  // namespace

Expected<Annotation> annotate(hwloc_topology_t topology, const Topology& gpu, const Target& target) {
  if (const auto checked = check(gpu); !checked) return tl::unexpected<Error>(checked.error());
  return Annotator(topology, gpu, target).run();
}

}  // namespace gputopo::hwloc_export
