#include "report/detail_tables.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "catalog/catalog.hpp"
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

DetailTable further_attributes(const Topology& topology, const CellStyle& style, Footnotes& notes) {
  DetailTable table{"Further attributes", {{"Memory"}, {"Attribute"}, {"Value"}, {"Method"}}, {}};
  for (const Memory& m : topology.memories)
    for (const auto& [name, estimate] : m.attributes) {
      if (is_main(name) || is_of_organisation(name)) continue;
      table.rows.push_back({{printable(m.id, 20), {}},
                            {printable(name, 24), {}},
                            estimate_cell(&estimate, m.id + " " + name, style, notes),
                            {printable(estimate.method, 20), {}}});
    }
  return table;
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

DetailTable organisation(const Topology& topology, const CellStyle& style, Footnotes& notes) {
  DetailTable table{"How caches are organised",
                    {{"Memory"},
                     {"Sets", Align::right},
                     {"Ways", Align::right},
                     {"Consecutive", Align::right, "lines"},
                     {"Index"},
                     {"Replacement"}},
                    {}};
  for (const Memory& m : topology.memories) {
    if (m.find("sets") == nullptr) continue;
    const auto cell = [&](const char* name) { return estimate_cell(m.find(name), m.id + " " + name, style, notes); };
    table.rows.push_back({{printable(m.id, 20), {}},
                          cell("sets"),
                          cell("ways"),
                          cell("consecutive_lines"),
                          statement_cell(m, "index", notes),
                          statement_cell(m, "replacement", notes)});
  }
  return table;
}

DetailTable stores(const Topology& topology, const CellStyle& /*style*/, Footnotes& notes) {
  constexpr std::array about{"write_policy", "write_hit", "write_allocate"};
  DetailTable table{
      "What stores do", {{"Memory"}, {"Write policy"}, {"A line that is there"}, {"A store that misses leaves"}}, {}};
  for (const Memory& m : topology.memories) {
    if (std::none_of(about.begin(), about.end(), [&](const char* name) { return m.structure.contains(name); }))
      continue;
    table.rows.push_back({{printable(m.id, 20), {}},
                          statement_cell(m, about[0], notes),
                          statement_cell(m, about[1], notes),
                          statement_cell(m, about[2], notes)});
  }
  return table;
}

DetailTable patterns(const Topology& topology, const CellStyle& /*style*/, Footnotes& notes) {
  DetailTable table{"What is fetched ahead, and how lines differ", {{"Memory"}, {"Prefetch"}, {"Lines"}}, {}};
  for (const Memory& m : topology.memories) {
    if (!m.structure.contains("prefetch") && !m.structure.contains("latency_by_line")) continue;
    table.rows.push_back(
        {{printable(m.id, 20), {}}, statement_cell(m, "prefetch", notes), statement_cell(m, "latency_by_line", notes)});
  }
  return table;
}

DetailTable carve_outs(const Memory& m, const CellStyle& style, Footnotes& notes) {
  DetailTable table{memory_label(m, true) + " by shared-memory carve-out",
                    {{"Asked", Align::right, "%"}, {"Shared memory"}, {"Left to the cache"}, {"Reserved"}},
                    {}};
  for (const CarveOut& c : m.carve_outs)
    table.rows.push_back({{fmt::format("{}", c.requested_percent), {}},
                          estimate_cell(&c.shared_bytes, "shared memory", style, notes),
                          estimate_cell(&c.usable_bytes, "left to the cache", style, notes),
                          estimate_cell(&c.reserved_bytes, "reserved", style, notes)});
  return table;
}

DetailTable sharing(const Topology& topology, const CellStyle& /*style*/, Footnotes& /*notes*/) {
  DetailTable table{"Which caches are one", {{"Caches"}, {"One cache?"}, {"By eviction"}, {"By residency"}}, {}};
  for (const SharingCheck& c : topology.sharing) {
    std::map<std::string, std::string> by;
    for (const SharingTest& t : c.tests)
      by[t.method] = fmt::format("{}, {:.0f} % lost", printable(t.verdict, 12), 100 * t.lost_share);
    const auto cell = [&](const char* method) { return by.contains(method) ? by.at(method) : std::string("-"); };
    table.rows.push_back({{printable(c.first, 16) + ", " + printable(c.second, 16), {}},
                          {printable(c.verdict, 14), {}},
                          {cell("eviction"), {}},
                          {cell("residency"), {}}});
  }
  return table;
}

// Metrics have long names: they stand below, as footnotes.
DetailTable cross_checks(const Topology& topology, const CellStyle& /*style*/, Footnotes& notes) {
  DetailTable table{"Timing against hardware counters",
                    {{"Memory"},
                     {"Size"},
                     {"Loads", Align::right},
                     {"By timing", Align::right},
                     {"By counter", Align::right},
                     {"Verdict"}},
                    {}};
  for (const CrossCheck& c : topology.crosscheck)
    table.rows.push_back({{printable(c.memory, 16), {}},
                          {brief_size_text(static_cast<double>(c.size_bytes)), {}},
                          {fmt::format("{}", c.loads), {}},
                          {number_text(c.by_timing), {}},
                          {number_text(c.by_counter), notes.mark(printable(c.metric, 90))},
                          {printable(c.verdict, 20), {}}});
  return table;
}

DetailTable breakdown(const Topology& topology, const CellStyle& /*style*/, Footnotes& /*notes*/) {
  const Provenance& p = topology.provenance;
  DetailTable table{"Where the time went", {{"Part"}, {"ms", Align::right}}, {}};
  for (const auto& [part, seconds] : p.breakdown_s)
    table.rows.push_back({{printable(part, 40), {}}, {fmt::format("{:.1f}", seconds * 1e3), {}}});
  if (!table.rows.empty()) table.rows.push_back({{"all", {}}, {fmt::format("{:.1f}", p.duration_s * 1e3), {}}});
  return table;
}

}  // namespace

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

std::vector<DetailMaker> detail_makers(const Topology& topology) {
  std::vector<DetailMaker> makers;
  const auto add = [&](DetailTable (*make)(const Topology&, const CellStyle&, Footnotes&)) {
    makers.emplace_back(
        [&topology, make](const CellStyle& style, Footnotes& notes) { return make(topology, style, notes); });
  };
  for (const auto make : {further_attributes, organisation, stores, patterns}) add(make);
  for (const Memory& m : topology.memories)
    if (!repeats(topology, m))
      makers.emplace_back([&m](const CellStyle& style, Footnotes& notes) { return carve_outs(m, style, notes); });
  for (const auto make : {sharing, cross_checks, breakdown}) add(make);
  return makers;
}

}  // namespace gputopo::report
