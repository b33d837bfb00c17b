#include "report/main_table.hpp"

#include <array>

#include <fmt/format.h>

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

struct Attribute {
  const char* key;
  const char* name;
};

constexpr std::array<Attribute, 5> attributes{{{"size", "size"},
                                               {"line_size", "line"},
                                               {"sector_size", "sector"},
                                               {"latency", "latency"},
                                               {"miss_penalty", "miss"}}};

// "L1 data: latency 37.9 to 38.2 cycles; L2: ...": the intervals that the table had no room for.
std::string interval_lines(const Topology& topology, const Detail& detail) {
  if (detail.inline_interval) return {};
  std::string text;
  for (const Memory& m : topology.memories) {
    std::string list;
    for (const Attribute& attribute : attributes) {
      const Estimate* estimate = m.find(attribute.key);
      const std::string words = estimate == nullptr ? std::string() : interval_words(*estimate);
      if (!words.empty()) list += fmt::format("{} {} {}", list.empty() ? "" : ",", attribute.name, words);
    }
    if (!list.empty())
      text += fmt::format("{} {}:{}", text.empty() ? "95 % intervals." : ";", label_of(m, detail), list);
  }
  return text;
}

}  // namespace

MainTable main_table(const Topology& topology, const Detail& detail, bool unicode, Footnotes& notes) {
  MainTable table;
  table.columns = {{"Memory"},
                   {"Size"},
                   {"Line", Align::right},
                   {"Sector", Align::right},
                   {"Latency", Align::right},
                   {"ns", Align::right},
                   {"Miss", Align::right},
                   {"Scope"},
                   {"Same as"}};
  const CellStyle style{unicode, detail.inline_interval, detail.exact_sizes, false};
  for (const Memory& m : topology.memories) {
    const std::string label = label_of(m, detail);
    const auto cell = [&](std::size_t i) {
      return estimate_cell(m.find(attributes.at(i).key), label + " " + attributes.at(i).name, style, notes);
    };
    table.rows.push_back({{label, {}},
                          cell(0),
                          cell(1),
                          cell(2),
                          cell(3),
                          nanoseconds(m.find("latency"), topology.gpu),
                          cell(4),
                          scope_cell(m, detail.full_labels ? Room::full : Room::brief, notes),
                          same_as_cell(topology, m, notes)});
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
