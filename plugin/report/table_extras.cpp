#include "report/table_extras.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "report/cell.hpp"
#include "report/chip_map.hpp"
#include "report/grid.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

// What the main table has a column for.
bool is_main(const std::string& attribute) {
  const catalog::AttributeRow* row = catalog::find_attribute(attribute);
  return row != nullptr && row->id == attribute && !row->heading.empty();
}

std::string titled(const std::string& title, const std::string& body) {
  return body.empty() ? std::string() : "\n" + title + "\n" + body;
}

std::string with_notes(const Grid& grid, const Footnotes& notes, const Options& options) {
  return grid.text(options.unicode ? "─" : "-") + notes.text(table_width);
}

std::string further_attributes(const Topology& topology, const Options& options) {
  Grid grid({{"Memory"}, {"Attribute"}, {"Value"}, {"Method"}});
  Footnotes notes(options.unicode ? MarkStyle::raised : MarkStyle::ascii);
  bool any = false;
  for (const Memory& m : topology.memories)
    for (const auto& [name, estimate] : m.attributes) {
      if (is_main(name)) continue;
      any = true;
      const CellStyle style{options.unicode, true, true, true};
      grid.add({{printable(m.id, 20), {}},
                {printable(name, 24), {}},
                estimate_cell(&estimate, m.id + " " + name, style, notes),
                {printable(estimate.method, 20), {}}});
    }
  return any ? with_notes(grid, notes, options) : std::string();
}

std::string carve_outs(const Memory& m, const Options& options) {
  Grid grid({{"Asked", Align::right}, {"Shared memory"}, {"Left to the cache"}, {"Reserved"}});
  Footnotes notes(options.unicode ? MarkStyle::raised : MarkStyle::ascii);
  const CellStyle style{options.unicode, true, true, true};
  for (const CarveOut& c : m.carve_outs)
    grid.add({{fmt::format("{} %", c.requested_percent), {}},
              estimate_cell(&c.shared_bytes, "shared memory", style, notes),
              estimate_cell(&c.usable_bytes, "left to the cache", style, notes),
              estimate_cell(&c.reserved_bytes, "reserved", style, notes)});
  return m.carve_outs.empty() ? std::string() : with_notes(grid, notes, options);
}

std::string groups(const Memory& m) {
  std::string text;
  for (std::size_t i = 0; i < m.sm_groups.size(); ++i) {
    const std::string line = fmt::format("  {:>3}: {:>3} SMs: {}", i, m.sm_groups[i].size(), sm_list(m.sm_groups[i]));
    for (const std::string& part : wrap(line, table_width, 16)) text += part + '\n';
  }
  return text;
}

// Metrics have long names: they stand below, as footnotes.
std::string cross_checks(const Topology& topology, const Options& options) {
  if (topology.crosscheck.empty()) return {};
  Grid grid({{"Memory"},
             {"Size"},
             {"Loads", Align::right},
             {"By timing", Align::right},
             {"By counter", Align::right},
             {"Verdict"}});
  Footnotes notes(options.unicode ? MarkStyle::raised : MarkStyle::ascii);
  for (const CrossCheck& c : topology.crosscheck)
    grid.add({{printable(c.memory, 16), {}},
              {size_text(static_cast<double>(c.size_bytes)), {}},
              {fmt::format("{}", c.loads), {}},
              {number_text(c.by_timing), {}},
              {number_text(c.by_counter), notes.mark(printable(c.metric, 90))},
              {printable(c.verdict, 20), {}}});
  return with_notes(grid, notes, options);
}

std::string sharing(const Topology& topology, const Options& options) {
  if (topology.sharing.empty()) return {};
  Grid grid({{"Caches"}, {"One cache?"}, {"By eviction"}, {"By residency"}});
  for (const SharingCheck& c : topology.sharing) {
    std::map<std::string, std::string> by;
    for (const SharingTest& t : c.tests)
      by[t.method] = fmt::format("{}, {:.0f} % lost", printable(t.verdict, 12), 100 * t.lost_share);
    const auto cell = [&](const char* method) { return by.contains(method) ? by.at(method) : std::string("-"); };
    grid.add({{printable(c.first, 16) + ", " + printable(c.second, 16), {}},
              {printable(c.verdict, 14), {}},
              {cell("eviction"), {}},
              {cell("residency"), {}}});
  }
  return grid.text(options.unicode ? "─" : "-");
}

std::string breakdown(const Provenance& p, const Options& options) {
  if (p.breakdown_s.empty()) return {};
  Grid grid({{"Part"}, {"ms", Align::right}});
  for (const auto& [part, seconds] : p.breakdown_s)
    grid.add({{printable(part, 40), {}}, {fmt::format("{:.1f}", seconds * 1e3), {}}});
  grid.add({{"all", {}}, {fmt::format("{:.1f}", p.duration_s * 1e3), {}}});
  return grid.text(options.unicode ? "─" : "-");
}

// A memory that is one physical cache with an earlier one has that one's carve-outs and groups.
bool repeats(const Topology& topology, const Memory& memory) {
  for (const Memory& other : topology.memories) {
    if (&other == &memory) return false;
    if (!memory.physical_cache.empty() && other.physical_cache == memory.physical_cache &&
        other.carve_outs.size() == memory.carve_outs.size() && other.sm_groups == memory.sm_groups)
      return true;
  }
  return false;
}

std::string map_lines(const Topology& topology) {
  std::string text;
  for (const MapLevel& level : chip_map(topology))
    for (const std::string& line :
         wrap(fmt::format("{} ({}): {}", level.name, level.groups.size(), groups_text(level)), table_width, 4))
      text += line + '\n';
  return text;
}

}  // namespace

std::string table_extras(const Topology& topology, const Options& options) {
  std::string text = titled("Further attributes", further_attributes(topology, options));
  for (const Memory& m : topology.memories) {
    if (repeats(topology, m)) continue;
    const std::string name = printable(m.label.empty() ? m.id : m.label, 28);
    text += titled(name + " by shared-memory carve-out", carve_outs(m, options));
    text += titled(name + ": SMs that share one", groups(m));
  }
  text += titled("Where the SMs sit, by group", map_lines(topology));
  text += titled("Which caches are one", sharing(topology, options));
  text += titled("Timing against hardware counters", cross_checks(topology, options));
  text += titled("Where the time went", breakdown(topology.provenance, options));
  return text;
}

}  // namespace gputopo::report
