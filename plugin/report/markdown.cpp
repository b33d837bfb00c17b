#include <fmt/format.h>

#include "report/bandwidth.hpp"
#include "report/chip_map.hpp"
#include "report/detail_tables.hpp"
#include "report/footnotes.hpp"
#include "report/main_table.hpp"
#include "report/report.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr std::size_t quoted_note_limit = 400;

// What would end a cell or start markup is written so that it shows as it is.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("|\\`*_<>[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string row_text(const std::vector<Cell>& row) {
  std::string text = "|";
  for (const Cell& cell : row) text += fmt::format(" {}{} |", escaped(cell.text), cell.mark);
  return text + "\n";
}

template <class Table>
std::string table_text(const Table& table) {
  std::string titles = "|";
  std::string rule = "|";
  for (const Column& column : table.columns) {
    titles += fmt::format(" {} |", heading_of(column));
    rule += column.align == Align::right ? " ---: |" : " --- |";
  }
  std::string text = titles + "\n" + rule + "\n";
  for (const auto& row : table.rows) text += row_text(row);
  return text;
}

std::string listed_groups(const Memory& m) {
  std::string text;
  for (std::size_t i = 0; i < m.sm_groups.size(); ++i) text += fmt::format("{}. {}\n", i, sm_list(m.sm_groups[i]));
  return text.empty() ? text : fmt::format("\n**{}: SMs that share one**\n\n{}", escaped(printable(m.label, 40)), text);
}

std::string map_text(const Topology& topology) {
  std::string text;
  for (const MapLevel& level : chip_map(topology))
    text += fmt::format("- {} ({}): {}\n", level.name, level.groups.size(), groups_text(level));
  return text.empty() ? text : "\n**Where the SMs sit, by group**\n\n" + text;
}

std::string detail_text(const Topology& topology, Footnotes& notes) {
  std::string text;
  for (const DetailMaker& make : detail_makers(topology)) {
    const DetailTable table = make(CellStyle{.unicode = true}, notes);
    if (!table.rows.empty()) text += fmt::format("\n**{}**\n\n{}", escaped(table.title), table_text(table));
  }
  return text;
}

std::string one(const Topology& topology, const Options& options, const std::string& heading) {
  Footnotes notes(MarkStyle::markdown);
  const MainTable table = main_table(topology, Detail{}, true, notes);
  std::string text = "## " + escaped(heading) + "\n\n";
  const std::string facts = gpu_facts(topology);
  if (!facts.empty()) text += escaped(facts) + "\n\n";
  if (is_truth(topology)) text += std::string(truth_remark) + "\n\n";
  text += table_text(table) + "\n" + latency_legend + "\n";
  if (const BandwidthTable rates = bandwidth_table(topology, true, true); !rates.rows.empty())
    text += fmt::format("\n**{}**\n\n{}\n{}\n", bandwidth_title, table_text(rates), escaped(rates.legend));
  for (const std::string& remark : {shared_gpu_text(topology.provenance), earlier_runs_text(topology)})
    if (!remark.empty()) text += "\n" + escaped(remark) + "\n";
  for (const std::string& note : topology.provenance.notes)
    text += "\n> Note: " + escaped(printable(note, quoted_note_limit)) + "\n";
  if (options.all)
    for (const Memory& m : topology.memories) text += listed_groups(m);
  if (options.all) text += map_text(topology) + detail_text(topology, notes);
  for (std::size_t i = 0; i < notes.notes().size(); ++i)
    text += fmt::format("\n[^{}]: {}\n", i + 1, escaped(notes.notes()[i]));
  return text;
}

}  // namespace

std::string render_markdown(std::span<const Topology> topologies, const Options& options) {
  std::string text;
  for (std::size_t i = 0; i < topologies.size(); ++i) {
    if (!text.empty()) text += '\n';
    text += one(topologies[i], options, heading(topologies, i, options.numbers));
  }
  return text;
}

}  // namespace gputopo::report
