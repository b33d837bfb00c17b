#include "hwloc_xml_check.hpp"

#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "hwloc_export/export.hpp"
#include "hwloc_export/gputopo_hwloc.h"
#include "hwloc_export/hwloc_plugins.hpp"
#include "one_line.hpp"
#include "store/simulated.hpp"

namespace gputopo::fuzz {
namespace {

constexpr const char* pci_bus_id = "0000:3b:00.0";

hwloc_topology_t new_topology() {
  hwloc_topology_t topology = nullptr;
  require(hwloc_topology_init(&topology) == 0);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_ALL);
  return topology;
}

const Topology& gpu() {
  static const Topology h200 = [] {
    auto topology = store::simulated_topology("h200");
    require(topology.has_value());
    topology->gpu.pci_bus_id = pci_bus_id;
    topology->gpu.uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
    return *topology;
  }();
  return h200;
}

void annotate(hwloc_topology_t topology) {
  const auto done = hwloc_export::annotate(topology, gpu(), {pci_bus_id, 0, hwloc_get_root_obj(topology)});
  if (!done) return require_one_line(done.error().message);
  require(hwloc_topology_reconnect(topology, 0) == 0);
  hwloc_topology_check(topology);
}

// The file with a GPU in it, cut at every text that may be exchanged: even pieces stay, odd ones are such texts.
std::vector<std::string> make_pieces() {
  hwloc_topology_t topology = new_topology();
  require(hwloc_topology_set_synthetic(topology, "numa:1 core:1 pu:1") == 0 && hwloc_topology_load(topology) == 0);
  annotate(topology);
  char* buffer = nullptr;
  int length = 0;
  require(hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0) == 0);
  const std::string xml = buffer;
  hwloc_free_xmlbuffer(topology, buffer);
  hwloc_topology_destroy(topology);
  std::vector<std::string> pieces(1);
  for (std::size_t at = 0; at < xml.size();) {
    const std::size_t end = std::min(xml.find('\n', at), xml.size() - 1) + 1;
    const std::string line = xml.substr(at, end - at);
    at = end;
    const bool ours =
        line.find("<info ") != line.npos || line.find("\"Misc\"") != line.npos || line.find("\"OSDev\"") != line.npos;
    std::size_t done = 0;
    for (const std::string key : {" name=\"", " subtype=\"", " value=\""}) {
      const std::size_t begin = line.find(key, done);
      if (!ours || begin == line.npos) continue;
      const std::size_t first = begin + key.size(), last = line.find('"', first);
      pieces.back() += line.substr(done, first - done);
      pieces.push_back(line.substr(first, last - first));
      pieces.emplace_back();
      done = last;
    }
    pieces.back() += line.substr(done);
  }
  return pieces;
}

// XML can't hold control characters, and its escapes are its own affair.
std::string escaped(std::string_view word) {
  std::string text;
  for (const char c : word) text += c < ' ' || c > '~' || c == '"' || c == '&' || c == '<' || c == '>' ? '?' : c;
  return text;
}

std::string changed(std::string_view edits) {
  static const std::vector<std::string> original = make_pieces();
  std::vector<std::string> pieces = original;
  while (!edits.empty()) {
    const std::string_view line = edits.substr(0, edits.find('\n'));
    edits.remove_prefix(std::min(edits.size(), line.size() + 1));
    std::size_t index = 0;
    const auto number = std::from_chars(line.data(), line.data() + line.size(), index);
    const auto used = static_cast<std::size_t>(number.ptr - line.data());
    if (number.ec == std::errc() && used < line.size())
      pieces[index % (pieces.size() / 2) * 2 + 1] = escaped(line.substr(used + 1));
  }
  std::string xml;
  for (const std::string& piece : pieces) xml += piece;
  return xml;
}

void look_at_memory(hwloc_topology_t topology, hwloc_obj_t device, hwloc_obj_t memory) {
  std::uint64_t bytes = 0;
  double number = 0;
  unsigned least = 0, most = 0;
  for (const char* id : {static_cast<const char*>(nullptr), "l1", "texture", "constant_l1_5"}) {
    static_cast<void>(gputopo_hwloc_size(memory, id, &bytes));
    static_cast<void>(gputopo_hwloc_line_size(memory, id, &bytes));
    static_cast<void>(gputopo_hwloc_sector_size(memory, id, &bytes));
    static_cast<void>(gputopo_hwloc_latency_cycles(memory, id, &number));
    static_cast<void>(gputopo_hwloc_latency_ns(memory, id, &number));
    if (id != nullptr) static_cast<void>(gputopo_hwloc_memory_by_id(topology, device, id));
  }
  static_cast<void>(gputopo_hwloc_scope(memory));
  static_cast<void>(gputopo_hwloc_shared_by_sms(memory, &least, &most));
  static_cast<void>(gputopo_hwloc_group_of_sm(memory, 17, &least));
  static_cast<void>(gputopo_hwloc_usable_bytes(memory, 8192, &bytes));
}

void look(hwloc_topology_t topology) {
  double number = 0;
  unsigned side = 0;
  hwloc_obj_t device = nullptr;
  while ((device = gputopo_hwloc_next_device(topology, device)) != nullptr) {
    static_cast<void>(gputopo_hwloc_is_simulated(device));
    static_cast<void>(gputopo_hwloc_flat_number(device, "GPUTopoL1dSize", &number));
    static_cast<void>(gputopo_hwloc_l2_side_of_sm(topology, device, 17, &side));
    static_cast<void>(gputopo_hwloc_object_by_id(topology, device, "part_gpc"));
    hwloc_obj_t memory = nullptr;
    while ((memory = gputopo_hwloc_next_memory(topology, device, memory)) != nullptr)
      look_at_memory(topology, device, memory);
  }
  static_cast<void>(gputopo_hwloc_device_by_name(topology, "cuda0"));
  static_cast<void>(gputopo_hwloc_device_by_uuid(topology, gpu().gpu.uuid.c_str()));
  static_cast<void>(gputopo_hwloc_device_by_pci(topology, 0, 0x3b, 0, 0));
}

}  // namespace

void check_hwloc_xml(std::string_view text) {
  static const hwloc_topology_t kept = new_topology();  // while there is one, hwloc's components stay loaded
  require(kept != nullptr);
  const std::string xml = changed(text);
  hwloc_topology_t topology = new_topology();
  if (hwloc_topology_set_xmlbuffer(topology, xml.c_str(), static_cast<int>(xml.size() + 1)) == 0 &&
      hwloc_topology_load(topology) == 0) {
    look(topology);
    annotate(topology);
    look(topology);
  }
  hwloc_topology_destroy(topology);
}

}  // namespace gputopo::fuzz
