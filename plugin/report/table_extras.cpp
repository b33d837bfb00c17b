#include "report/table_extras.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "report/boxes.hpp"
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

// What the table of organisations has a column for.
bool is_of_organisation(const std::string& attribute) {
  return attribute == "sets" || attribute == "ways" || attribute == "consecutive_lines";
}

std::string titled(const Options& options, const std::string& title, const std::string& body) {
  return body.empty() ? std::string() : "\n" + painted(title, Tone::title, options.look) + "\n" + body;
}

std::string with_notes(const Grid& grid, const Footnotes& notes, const Options& options) {
  return grid.text(options.look) + painted_lines(notes.text(options.width), Tone::faint, options.look);
}

// How much room a cell of the further tables takes, from the fullest to the narrowest; the first that fits is taken.
struct Fit {
  bool intervals;
  bool exact_sizes;
};
constexpr std::array<Fit, 3> fits{{{true, true}, {false, true}, {false, false}}};

template <class Table>
std::string first_that_fits(const Options& options, const Table& table) {
  std::string text;
  for (const Fit& fit : fits) {
    Footnotes notes(options.look.unicode ? MarkStyle::raised : MarkStyle::ascii);
    Grid grid = table(CellStyle{options.look.unicode, fit.intervals, fit.exact_sizes, true, true}, notes);
    const bool fitted = grid.width() <= options.width;
    if (!fitted && &fit == &fits.back()) grid.fit(options.width);
    text = with_notes(grid, notes, options);
    if (fitted) break;
  }
  return text;
}

std::string further_attributes(const Topology& topology, const Options& options) {
  bool any = false;
  const std::string text = first_that_fits(options, [&](const CellStyle& style, Footnotes& notes) {
    Grid grid({{"Memory"}, {"Attribute"}, {"Value"}, {"Method"}});
    for (const Memory& m : topology.memories)
      for (const auto& [name, estimate] : m.attributes) {
        if (is_main(name) || is_of_organisation(name)) continue;
        any = true;
        grid.add({{printable(m.id, 20), {}},
                  {printable(name, 24), {}},
                  estimate_cell(&estimate, m.id + " " + name, style, notes),
                  {printable(estimate.method, 20), {}}});
      }
    return grid;
  });
  return any ? text : std::string();
}

// A statement's value, and behind it how that shows; or why it is open.
Cell statement_cell(const Memory& m, const char* about, Footnotes& notes) {
  constexpr std::size_t most = 400;
  const auto it = m.structure.find(about);
  if (it == m.structure.end()) return {"-", {}};
  const Statement& s = it->second;
  const std::string note = printable(s.note, most);
  return {s.value.empty() ? "?" : printable(s.value, 20), note.empty() ? std::string() : notes.mark(note)};
}

std::string organisation(const Topology& topology, const Options& options) {
  const CellStyle style{options.look.unicode, true, false, true, true};
  Footnotes notes(options.look.unicode ? MarkStyle::raised : MarkStyle::ascii);
  Grid grid({{"Memory"},
             {"Sets", Align::right},
             {"Ways", Align::right},
             {"Consecutive lines", Align::right},
             {"Index"},
             {"Replacement"}});
  bool any = false;
  for (const Memory& m : topology.memories) {
    if (m.find("sets") == nullptr) continue;
    any = true;
    const auto cell = [&](const char* name) { return estimate_cell(m.find(name), m.id + " " + name, style, notes); };
    grid.add({{printable(m.id, 20), {}},
              cell("sets"),
              cell("ways"),
              cell("consecutive_lines"),
              statement_cell(m, "index", notes),
              statement_cell(m, "replacement", notes)});
  }
  return any ? with_notes(grid, notes, options) : std::string();
}

std::string stores(const Topology& topology, const Options& options) {
  constexpr std::array about{"write_policy", "write_hit", "write_allocate"};
  Footnotes notes(options.look.unicode ? MarkStyle::raised : MarkStyle::ascii);
  Grid grid({{"Memory"}, {"Write policy"}, {"A line that is there"}, {"A store that misses leaves"}});
  bool any = false;
  for (const Memory& m : topology.memories) {
    if (std::none_of(about.begin(), about.end(), [&](const char* name) { return m.structure.contains(name); }))
      continue;
    any = true;
    grid.add({{printable(m.id, 20), {}},
              statement_cell(m, about[0], notes),
              statement_cell(m, about[1], notes),
              statement_cell(m, about[2], notes)});
  }
  return any ? with_notes(grid, notes, options) : std::string();
}

std::string patterns(const Topology& topology, const Options& options) {
  Footnotes notes(options.look.unicode ? MarkStyle::raised : MarkStyle::ascii);
  Grid grid({{"Memory"}, {"Prefetch"}, {"Lines"}});
  bool any = false;
  for (const Memory& m : topology.memories) {
    if (!m.structure.contains("prefetch") && !m.structure.contains("latency_by_line")) continue;
    any = true;
    grid.add(
        {{printable(m.id, 20), {}}, statement_cell(m, "prefetch", notes), statement_cell(m, "latency_by_line", notes)});
  }
  return any ? with_notes(grid, notes, options) : std::string();
}

std::string carve_outs(const Memory& m, const Options& options) {
  if (m.carve_outs.empty()) return {};
  return first_that_fits(options, [&](const CellStyle& style, Footnotes& notes) {
    Grid grid({{"Asked", Align::right, "%"}, {"Shared memory"}, {"Left to the cache"}, {"Reserved"}});
    for (const CarveOut& c : m.carve_outs)
      grid.add({{fmt::format("{}", c.requested_percent), {}},
                estimate_cell(&c.shared_bytes, "shared memory", style, notes),
                estimate_cell(&c.usable_bytes, "left to the cache", style, notes),
                estimate_cell(&c.reserved_bytes, "reserved", style, notes)});
    return grid;
  });
}

std::string groups(const Memory& m, const Options& options) {
  std::string text;
  for (std::size_t i = 0; i < m.sm_groups.size(); ++i) {
    const std::string line = fmt::format("  {:>3}: {:>3} SMs: {}", i, m.sm_groups[i].size(), sm_list(m.sm_groups[i]));
    for (const std::string& part : wrap(line, options.width, 16)) text += part + '\n';
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
  Footnotes notes(options.look.unicode ? MarkStyle::raised : MarkStyle::ascii);
  for (const CrossCheck& c : topology.crosscheck)
    grid.add({{printable(c.memory, 16), {}},
              {brief_size_text(static_cast<double>(c.size_bytes)), {}},
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
  return grid.text(options.look);
}

std::string breakdown(const Provenance& p, const Options& options) {
  if (p.breakdown_s.empty()) return {};
  Grid grid({{"Part"}, {"ms", Align::right}});
  for (const auto& [part, seconds] : p.breakdown_s)
    grid.add({{printable(part, 40), {}}, {fmt::format("{:.1f}", seconds * 1e3), {}}});
  grid.add({{"all", {}}, {fmt::format("{:.1f}", p.duration_s * 1e3), {}}});
  return grid.text(options.look);
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

std::string map_lines(const Topology& topology, const Options& options) {
  std::string text;
  for (const MapLevel& level : chip_map(topology))
    for (const std::string& line :
         wrap(fmt::format("{} ({}): {}", level.name, level.groups.size(), groups_text(level)), options.width, 4))
      text += line + '\n';
  return text;
}

}  // namespace

std::string table_extras(const Topology& topology, const Options& options) {
  std::string text = titled(options, "What lies in what", boxes(topology, options));
  text += titled(options, "Further attributes", further_attributes(topology, options));
  text += titled(options, "How caches are organised", organisation(topology, options));
  text += titled(options, "What stores do", stores(topology, options));
  text += titled(options, "What is fetched ahead, and how lines differ", patterns(topology, options));
  for (const Memory& m : topology.memories) {
    if (repeats(topology, m)) continue;
    const std::string name = memory_label(m, true);
    text += titled(options, name + " by shared-memory carve-out", carve_outs(m, options));
    text += titled(options, name + ": SMs that share one", groups(m, options));
  }
  text += titled(options, "Where the SMs sit, by group", map_lines(topology, options));
  text += titled(options, "Which caches are one", sharing(topology, options));
  text += titled(options, "Timing against hardware counters", cross_checks(topology, options));
  text += titled(options, "Where the time went", breakdown(topology.provenance, options));
  return text;
}

}  // namespace gputopo::report
