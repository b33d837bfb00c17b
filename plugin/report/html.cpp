#include <fmt/format.h>

#include "report/bandwidth.hpp"
#include "report/chip_map.hpp"
#include "report/detail_tables.hpp"
#include "report/footnotes.hpp"
#include "report/html_plots.hpp"
#include "report/main_table.hpp"
#include "report/page.hpp"
#include "report/report.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

std::string cell_html(const Cell& cell, Align align, const std::string& heading) {
  const std::string mark = cell.mark.empty() ? "" : "<sup>" + escape_html(cell.mark) + "</sup>";
  return fmt::format("<td{} data-label=\"{}\">{}{}</td>", align == Align::right ? " class=\"right\"" : "",
                     escape_html(heading), escape_html(cell.text), mark);
}

template <class Table>
std::string rows_html(const Table& table, const std::string& legend) {
  std::string html = "<div class=\"scroll\"><table class=\"cards\">\n<thead><tr>";
  for (const Column& column : table.columns)
    html += fmt::format("<th{}>{}</th>", column.align == Align::right ? " class=\"right\"" : "",
                        escape_html(heading_of(column)));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      html += cell_html(row[i], table.columns[i].align, heading_of(table.columns[i]));
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
  return legend.empty() ? html : html + fmt::format("<p>{}</p>\n", escape_html(legend));
}

std::string notes_html(const Footnotes& notes) {
  if (notes.notes().empty()) return {};
  std::string html = "<ol class=\"notes\">\n";
  for (const std::string& note : notes.notes()) html += "<li>" + escape_html(note) + "</li>\n";
  return html + "</ol>\n";
}

std::string table_html(const Topology& topology) {
  Footnotes notes(MarkStyle::plain);
  const MainTable table = main_table(topology, Detail{}, true, notes);
  return rows_html(table, latency_legend) + notes_html(notes);
}

// Each with notes of its own.
std::string details_html(const Topology& topology) {
  std::string html;
  for (const DetailMaker& make : detail_makers(topology)) {
    Footnotes notes(MarkStyle::plain);
    const DetailTable table = make(CellStyle{.unicode = true}, notes);
    if (!table.rows.empty())
      html += fmt::format("<section class=\"long\"><h2>{}</h2>\n{}{}</section>\n", escape_html(table.title),
                          rows_html(table, ""), notes_html(notes));
  }
  return html;
}

std::string bandwidth_html(const Topology& topology) {
  const BandwidthTable table = bandwidth_table(topology, true, true);
  if (table.rows.empty()) return {};
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", bandwidth_title, rows_html(table, table.legend));
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
  html += table_html(topology) + bandwidth_html(topology) + latency_section(topology) + size_section(topology) +
          chip_section(topology) + carve_out_section(topology) + sharing_section(topology) +
          evidence_section(topology, options.evidence) + time_section(topology);
  if (options.all) html += map_html(topology) + details_html(topology);
  return html + footer_html(topology) + "</article>\n";
}

}  // namespace

std::string render_html(std::span<const Topology> topologies, const Options& options) {
  const std::string title = topologies.empty() ? "GPU memories" : headline(topologies.front());
  std::string html;
  for (std::size_t i = 0; i < topologies.size(); ++i)
    html += article(topologies[i], options, heading(topologies, i, options.numbers));
  return page(title, html);
}

}  // namespace gputopo::report
