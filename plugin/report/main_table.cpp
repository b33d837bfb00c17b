#include "report/main_table.hpp"

#include <fmt/format.h>

#include "catalog/catalog.hpp"
#include "report/cell.hpp"
#include "report/structure.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr std::size_t label_limit = 28;

std::string label_of(const Memory& m, const Detail& detail) {
  std::string label = printable(m.label.empty() ? m.id : m.label, label_limit);
  if (!detail.full_labels && label.ends_with(" cache")) label.resize(label.size() - 6);
  return label;
}

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
    if (!list.empty()) text += fmt::format("{} {}:{}", text.empty() ? "" : ";", label_of(m, detail), list);
  }
  if (text.empty()) return text;
  return (are_alike ? "95 % intervals." : "Intervals, of 95 % where nothing else is said.") + text;
}

}  // namespace

MainTable main_table(const Topology& topology, const Detail& detail, bool unicode, Footnotes& notes) {
  MainTable table;
  table.columns = {{"Memory"}};
  for (const catalog::AttributeRow& row : catalog::attributes()) {
    if (row.heading.empty()) continue;
    table.columns.push_back({std::string(row.heading), row.id == "size" ? Align::left : Align::right});
    if (row.id == "latency") table.columns.push_back({"ns", Align::right});
  }
  table.columns.push_back({"Scope"});
  table.columns.push_back({"Same as"});
  const CellStyle style{unicode, detail.inline_interval, detail.exact_sizes, false};
  for (const Memory& m : topology.memories) {
    const std::string label = label_of(m, detail);
    auto& cells = table.rows.emplace_back();
    cells.push_back({label, {}});
    for (const catalog::AttributeRow& row : catalog::attributes()) {
      if (row.heading.empty()) continue;
      cells.push_back(estimate_cell(m.find(row.id), fmt::format("{} {}", label, row.label), style, notes));
      if (row.id == "latency") cells.push_back(nanoseconds(m.find(row.id), topology.gpu));
    }
    cells.push_back(scope_cell(m, detail.full_labels ? Room::full : Room::brief, notes));
    cells.push_back(same_as_cell(topology, m, notes));
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
