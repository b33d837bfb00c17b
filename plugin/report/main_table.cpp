#include "report/main_table.hpp"

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "report/cell.hpp"
#include "report/structure.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

Cell nanoseconds(const Estimate* latency, const Gpu& gpu) {
  if (latency == nullptr || !latency->value || latency->unit != "cycles") return {"-", {}};
  const auto ns = cycles_to_ns(*latency->value, gpu);
  return {ns ? number_text(*ns) : "-", {}};
}

// "L1 data: latency 37.9 to 38.2 cycles; L2: ...": the intervals that the table had no room for.
std::string interval_lines(const Topology& topology, const Detail& detail) {
  if (detail.inline_interval) return {};
  std::string text;
  bool are_alike = true;
  for (const Memory& m : topology.memories) {
    std::string list;
    for (const catalog::AttributeRow& attribute : catalog::attributes()) {
      const Estimate* estimate = attribute.heading.empty() ? nullptr : m.find(attribute.id);
      const std::string words = estimate == nullptr ? std::string() : interval_words(*estimate);
      if (words.empty()) continue;
      are_alike = are_alike && estimate->interval_kind == interval_kinds.front();
      list += fmt::format("{} {} {}", list.empty() ? "" : ",", attribute.label, words);
    }
    if (!list.empty())
      text += fmt::format("{} {}:{}", text.empty() ? "" : ";", memory_label(m, detail.full_labels), list);
  }
  if (text.empty()) return text;
  return (are_alike ? "95 % intervals." : "Intervals, of 95 % where nothing else is said.") + text;
}

std::vector<Column> columns_of(const Detail& detail) {
  std::vector<Column> columns{{"Memory"}};
  for (const catalog::AttributeRow& row : catalog::attributes()) {
    if (row.heading.empty()) continue;
    if (row.id == "size")
      columns.push_back({std::string(row.heading)});
    else
      columns.push_back({std::string(row.heading), Align::right, std::string(row.unit)});
    if (row.id == "latency" && detail.nanoseconds) columns.push_back({std::string(row.heading), Align::right, "ns"});
  }
  columns.push_back({"Scope"});
  if (detail.same_as) columns.push_back({"Same as"});
  return columns;
}

// The memory's name, and what stands in the column "Same as" where there is one.
Cell name_cell(const std::string& label, const Cell& same_as, const Detail& detail, Footnotes& notes) {
  if (detail.same_as || same_as.text.empty()) return {label, {}};
  if (same_as.text != "-") return {label, notes.mark("one physical cache with " + same_as.text)};
  return {label, same_as.mark};
}

}  // namespace

MainTable main_table(const Topology& topology, const Detail& detail, bool unicode, Footnotes& notes) {
  MainTable table;
  table.columns = columns_of(detail);
  const CellStyle size_style{unicode, detail.inline_interval, detail.exact_sizes, false, true};
  CellStyle style = size_style;
  style.with_bytes = false;
  for (const Memory& m : topology.memories) {
    const std::string label = memory_label(m, detail.full_labels);
    auto& cells = table.rows.emplace_back();
    const std::string prefix = detail.same_as ? "" : "whether it is one cache with another: ";
    const Cell same_as = same_as_cell(topology, m, prefix, notes);
    cells.push_back(name_cell(label, same_as, detail, notes));
    for (const catalog::AttributeRow& row : catalog::attributes()) {
      if (row.heading.empty()) continue;
      const CellStyle& own = row.id == "size" ? size_style : style;
      cells.push_back(estimate_cell(m.find(row.id), fmt::format("{} {}", label, row.label), own, notes));
      if (row.id == "latency" && detail.nanoseconds) cells.push_back(nanoseconds(m.find(row.id), topology.gpu));
    }
    cells.push_back(scope_cell(m, detail.full_labels ? Room::full : Room::brief, notes));
    if (detail.same_as) cells.push_back(same_as);
  }
  table.intervals = interval_lines(topology, detail);
  return table;
}

bool is_truth(const Topology& topology) {
  bool any = false;
  for (const Memory& m : topology.memories)
    for (const auto& [name, estimate] : m.attributes) {
      if (estimate.status != Status::truth && estimate.status != Status::not_supported) return false;
      any = true;
    }
  return any;
}

}  // namespace gputopo::report
