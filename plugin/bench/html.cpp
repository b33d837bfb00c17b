#include <fmt/format.h>

#include "bench/render.hpp"
#include "report/page.hpp"
#include "report/svg.hpp"

namespace gputopo::bench {
namespace {

using report::escape_html;
using throughput::Finding;
using throughput::Plot;
using throughput::Result;

std::string findings_html(const Result& result) {
  if (result.findings.empty()) return {};
  std::string html =
      "<div class=\"scroll\"><table>\n<thead><tr><th>Memory</th><th>Quantity</th><th class=\"right\">Value</th>"
      "<th class=\"right\">Limit</th><th class=\"right\">Counted</th><th>Reached "
      "by</th><th>Method</th></tr></thead>\n<tbody>\n";
  std::string notes;
  for (const Finding& f : result.findings) {
    const char* bound = f.estimate.status == Status::lower_bound ? "&ge; " : "";
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"right\">{}{}</td><td class=\"right\">{}</td><td "
        "class=\"right\">{}</td><td>{}</td>"
        "<td>{}</td></tr>\n",
        escape_html(f.memory), escape_html(f.quantity), bound, escape_html(value_text(f)), escape_html(limit_text(f)),
        escape_html(counted_text(f)), escape_html(f.configuration), escape_html(f.estimate.method));
    if (!f.estimate.note.empty())
      notes += fmt::format("<p>{} {}: {}</p>\n", escape_html(f.memory), escape_html(f.quantity),
                           escape_html(f.estimate.note));
  }
  return html + "</tbody></table></div>\n" + notes;
}

std::string plot_html(const Plot& plot) {
  report::CurvePlot drawn;
  drawn.title = plot.title;
  drawn.x_label = plot.x_label;
  drawn.y_label = plot.y_label;
  drawn.logarithmic_x = plot.logarithmic_x;
  for (const auto& series : plot.series) {
    report::Curve curve{series.label, {}};
    for (const auto& p : series.points) curve.points.emplace_back(p.x, p.y);
    drawn.curves.push_back(std::move(curve));
  }
  drawn.css = "wide";
  std::string both = report::curve_plot(drawn);
  drawn.css = "narrow", drawn.width = 460, drawn.height = 270;
  both += report::curve_plot(drawn);
  return fmt::format("<h3>{}</h3>\n<div class=\"scroll\">{}</div>\n", escape_html(plot.title), both);
}

}  // namespace

std::string render_html(const throughput::Report& report, const Options& options) {
  std::string body = fmt::format(
      "<article>\n<h1>{}</h1>\n<p>Throughput. Every rate is the median of five runs; B/cycle "
      "are of one SM, GB/s (10^9) of the GPU.</p>\n",
      escape_html(options.headline));
  if (report.interrupted) body += "<p>Interrupted: what was done by then.</p>\n";
  for (const Result& result : report.results) {
    body += fmt::format("<section><h2>{}</h2>\n", escape_html(result.name)) + findings_html(result);
    for (const std::string& note : result.notes) body += "<p>Note: " + escape_html(note) + "</p>\n";
    for (const Plot& plot : result.plots) body += plot_html(plot);
    body += "</section>\n";
  }
  body += fmt::format("<footer>gputopo {}, created {}</footer>\n</article>\n",
                      escape_html(report.provenance.tool_version), escape_html(report.provenance.created));
  return report::page(options.headline, body);
}

}  // namespace gputopo::bench
