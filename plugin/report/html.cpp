#include <fmt/format.h>

#include "report/chip_map.hpp"
#include "report/footnotes.hpp"
#include "report/html_plots.hpp"
#include "report/main_table.hpp"
#include "report/report.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr const char* style = R"css(
:root { --ink: #1c2430; --faint: #66707f; --line: #dfe3e8; --paper: #fff; --near: #2f6fb5; --far: #14857a;
  --scratchpad: #b5722f; --memory: #7a4fa3; --time: #8a94a3; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --faint: #98a2b0; --line: #343c48; --paper: #14181e;
  --near: #5f9fe0; --far: #3fb5a8; --scratchpad: #d99a5b; --memory: #ad86d4; --time: #6b7685; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
  margin: 3rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.9rem; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.25rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 0.5rem; font-weight: 600; }
p, footer, .notes { color: var(--faint); margin: 0.25rem 0 0.75rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; margin: 1.5rem 0 0.75rem; }
th { text-align: left; font-weight: 600; font-size: 0.85rem; color: var(--faint); border-bottom: 2px solid var(--line); }
th, td { padding: 0.4rem 0.7rem 0.4rem 0; white-space: nowrap; }
td { border-bottom: 1px solid var(--line); }
.right { text-align: right; }
sup { color: var(--faint); font-size: 0.7em; }
.notes { font-size: 0.85rem; padding-left: 1.2rem; }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .label { text-anchor: end; fill: var(--faint); }
svg .inside, svg .sm { fill: #fff; } svg .sm { text-anchor: middle; font-size: 10px; }
.near, .part1, .group0 { fill: var(--near); } .far, .group1 { fill: var(--far); }
.scratchpad, .part0, .group2 { fill: var(--scratchpad); } .memory, .group3 { fill: var(--memory); }
.time, .part2 { fill: var(--time); } .group4 { fill: #b04a5a; } .group5 { fill: #5b7f2b; } .group6 { fill: #4a5fb0; }
.group7 { fill: #8a6d1f; }
.whisker { stroke: var(--ink); fill: none; stroke-width: 1.5; }
footer { border-top: 1px solid var(--line); margin-top: 3rem; padding-top: 1rem; font-size: 0.85rem; }
@media print { body { margin: 0 auto; } section { break-inside: avoid; } }
)css";

std::string cell_html(const Cell& cell, Align align) {
  const std::string mark = cell.mark.empty() ? "" : "<sup>" + escape_html(cell.mark) + "</sup>";
  return fmt::format("<td{}>{}{}</td>", align == Align::right ? " class=\"right\"" : "", escape_html(cell.text), mark);
}

std::string table_html(const Topology& topology) {
  Footnotes notes(MarkStyle::plain);
  const MainTable table = main_table(topology, Detail{}, true, notes);
  std::string html = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const Column& column : table.columns)
    html += fmt::format("<th{}>{}</th>", column.align == Align::right ? " class=\"right\"" : "",
                        escape_html(heading_of(column)));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) html += cell_html(row[i], table.columns[i].align);
    html += "</tr>\n";
  }
  html += fmt::format("</tbody></table></div>\n<p>{}</p>\n", escape_html(latency_legend));
  if (notes.notes().empty()) return html;
  html += "<ol class=\"notes\">\n";
  for (const std::string& note : notes.notes()) html += "<li>" + escape_html(note) + "</li>\n";
  return html + "</ol>\n";
}

std::string footer_html(const Topology& topology) {
  const Provenance& p = topology.provenance;
  std::string text = fmt::format("{} {}", p.tool_name, p.tool_version);
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format(", {} {}", name, value);
  };
  add("created", p.created);
  add("device", p.device);
  add("method", p.method);
  add("seed", fmt::format("{}", p.seed));
  add("GPU", topology.gpu.uuid);
  add("at", topology.gpu.pci_bus_id);
  return "<footer>" + escape_html(text) + "</footer>\n";
}

std::string map_html(const Topology& topology) {
  std::string html;
  for (const MapLevel& level : chip_map(topology))
    html += fmt::format("<li>{} ({}): {}</li>\n", level.name, level.groups.size(), escape_html(groups_text(level)));
  return html.empty() ? html : "<section><h2>Where the SMs sit, by group</h2>\n<ul>\n" + html + "</ul></section>\n";
}

std::string article(const Topology& topology, const Options& options, const std::string& heading) {
  std::string html =
      fmt::format("<article>\n<h1>{}</h1>\n<p>{}</p>\n", escape_html(heading), escape_html(gpu_facts(topology)));
  if (is_truth(topology)) html += fmt::format("<p>{}</p>\n", escape_html(truth_remark));
  for (const std::string& remark : {shared_gpu_text(topology.provenance), earlier_runs_text(topology)})
    if (!remark.empty()) html += "<p>" + escape_html(remark) + "</p>\n";
  for (const std::string& note : topology.provenance.notes) html += "<p>Note: " + escape_html(note) + "</p>\n";
  html += table_html(topology) + latency_section(topology) + size_section(topology) + carve_out_section(topology) +
          sharing_section(topology) + time_section(topology);
  if (options.all) html += map_html(topology);
  return html + footer_html(topology) + "</article>\n";
}

}  // namespace

std::string render_html(std::span<const Topology> topologies, const Options& options) {
  const std::string title = topologies.empty() ? "GPU memories" : headline(topologies.front());
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      escape_html(title), style);
  for (std::size_t i = 0; i < topologies.size(); ++i)
    html += article(topologies[i], options, heading(topologies, i, options.numbers));
  return html + "</body>\n</html>\n";
}

}  // namespace gputopo::report
