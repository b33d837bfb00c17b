#include <array>

#include <fmt/format.h>

#include "bench/render.hpp"
#include "report/grid.hpp"
#include "report/text.hpp"

namespace gputopo::bench {
namespace {

using report::Align;
using report::Cell;
using throughput::Finding;
using throughput::Plot;
using throughput::Result;

constexpr std::size_t text_limit = 200;

// Rates of the GPU in GB/s (10^9), as they are sold; everything else in its own unit.
std::string with_unit(double value, const std::string& unit) {
  if (unit == "B/s") return fmt::format("{:.1f} GB/s", value / 1e9);
  if (unit == "B/cycle") return fmt::format("{:.2f} B/cycle", value);
  if (unit == "B") return report::size_text(value);
  const std::string number = fmt::format("{:.4g}", value);
  return unit.empty() ? number : number + " " + unit;
}

std::string points_text(const Plot& plot) {
  std::string text = fmt::format("\n{} ({} by {})\n", plot.title, plot.y_label, plot.x_label);
  for (const auto& series : plot.series) {
    text += fmt::format("  {}:", series.label);
    for (const auto& p : series.points) text += fmt::format(" {:.6g}:{:.6g}", p.x, p.y);
    text += '\n';
  }
  return text;
}

std::string result_text(const Result& result, const Options& options) {
  report::Grid grid({{"Memory", Align::left, {}},
                     {"Quantity", Align::left, {}},
                     {"Value", Align::right, {}},
                     {"Limit", Align::right, {}},
                     {"Reached by", Align::left, {}}});
  std::string notes;
  for (const Finding& f : result.findings) {
    const bool is_bound = f.estimate.status == Status::lower_bound;
    grid.add({Cell{f.memory, {}}, Cell{f.quantity, {}}, Cell{(is_bound ? ">= " : "") + value_text(f), {}},
              Cell{limit_text(f), {}}, Cell{f.configuration, {}}});
    if (!f.estimate.note.empty()) notes += fmt::format("{} {}: {}\n", f.memory, f.quantity, f.estimate.note);
  }
  std::string text = fmt::format("\n{} ({:.1f} s)\n", result.name, result.duration_s);
  if (!result.findings.empty()) text += grid.text(options.unicode ? "\u2500" : "-");
  for (const std::string& note : result.notes) notes += report::printable(note, text_limit) + '\n';
  text += notes;
  if (options.all)
    for (const Plot& plot : result.plots) text += points_text(plot);
  return text;
}

}  // namespace

std::string value_text(const Finding& f) {
  return f.estimate.value ? with_unit(*f.estimate.value, f.estimate.unit) : "?";
}

std::string limit_text(const Finding& f) {
  return f.limit ? with_unit(*f.limit, f.estimate.unit) : "";
}

std::string render_table(const throughput::Report& report, const Options& options) {
  std::string text = options.headline + '\n';
  for (const Result& result : report.results) text += result_text(result, options);
  text += "\nEvery rate is the median of five runs; B/cycle are of one SM, GB/s (10^9) of the GPU.\n";
  if (report.interrupted) text += "Interrupted: what was done by then.\n";
  return text;
}

std::span<const Format> formats() {
  static constexpr std::array<Format, 4> all{
      {{"table", render_table}, {"json", render_json}, {"csv", render_csv}, {"html", render_html}}};
  return all;
}

}  // namespace gputopo::bench
