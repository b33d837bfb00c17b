#include "report/bandwidth.hpp"

#include <array>
#include <string_view>

#include "report/cell.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

// A row's attributes: read, written, copied. `suffix` follows the memory's label, `instead` stands in its place.
struct Accesses {
  std::string_view suffix, instead;
  std::array<const char*, 3> attributes;
};

constexpr std::array<Accesses, 5> kinds_of_accesses{{
    {"", "", {"read_bandwidth", "write_bandwidth", "copy_bandwidth"}},
    {", the same bytes for all", "", {"shared_read_bandwidth", "", ""}},
    {", near", "", {"near_read_bandwidth", "near_write_bandwidth", ""}},
    {", far", "", {"far_read_bandwidth", "far_write_bandwidth", ""}},
    {"", "Host link, to the host and from it", {"to_host_bandwidth", "to_device_bandwidth", ""}},
}};

}  // namespace

BandwidthTable bandwidth_table(const Topology& topology, bool full_labels, bool unicode) {
  BandwidthTable table{
      {{"Memory"}, {"Read", Align::right}, {"Written", Align::right}, {"Copied", Align::right}}, {}, {}};
  bool is_brief = false;
  for (const Memory& m : topology.memories)
    for (const Accesses& kind : kinds_of_accesses) {
      std::vector<Cell> row;
      row.push_back(
          {kind.instead.empty() ? memory_label(m, full_labels) + std::string(kind.suffix) : std::string(kind.instead),
           {}});
      bool any = false;
      for (const char* attribute : kind.attributes) {
        const Estimate* e = m.find(attribute);
        any = any || e != nullptr;
        row.push_back(plain_cell(e, unicode));
        is_brief = is_brief || (e != nullptr && e->method == "brief_search");
      }
      if (any) table.rows.push_back(std::move(row));
    }
  table.legend = bandwidth_legend;
  if (is_brief) table.legend += std::string(" ") + at_least_legend;
  return table;
}

}  // namespace gputopo::report
