#include <algorithm>
#include <array>
#include <vector>

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
constexpr std::size_t indent = 2;

// Rates of the GPU in GB/s (10^9), as they are sold; everything else in its own unit.
std::string with_unit(double value, const std::string& unit) {
  if (unit == "B/s") return fmt::format("{:.1f} GB/s", value / 1e9);
  if (unit == "B/cycle") return fmt::format("{:.2f} B/cycle", value);
  if (unit == "B") return report::size_text(value);
  const std::string number = fmt::format("{:.4g}", value);
  return unit.empty() ? number : number + " " + unit;
}

std::string lines_of(std::string_view text, std::size_t width, std::size_t later = indent) {
  std::string lines;
  for (const std::string& line : report::wrap(text, width, later)) lines += line + '\n';
  return lines;
}

std::string points_text(const Plot& plot, std::size_t width) {
  std::string text = '\n' + lines_of(fmt::format("{} ({} by {})", plot.title, plot.y_label, plot.x_label), width);
  for (const auto& series : plot.series) {
    std::string line = fmt::format("  {}:", series.label);
    for (const auto& p : series.points) line += fmt::format(" {:.6g}:{:.6g}", p.x, p.y);
    text += lines_of(line, width, 2 * indent);
  }
  return text;
}

std::string result_text(const Result& result, const Options& options) {
  std::vector<report::Column> columns{{"Memory", Align::left, {}},
                                      {"Quantity", Align::left, {}},
                                      {"Value", Align::right, {}},
                                      {"Limit", Align::right, {}}};
  const bool counted = has_counted_bytes(result);
  if (counted) columns.push_back({"Counted", Align::right, {}});
  columns.push_back({"Reached by", Align::left, {}});
  report::Grid grid(std::move(columns));
  std::string notes;
  for (const Finding& f : result.findings) {
    const bool is_bound = f.estimate.status == Status::lower_bound;
    std::vector<Cell> cells{
        {f.memory, {}}, {f.quantity, {}}, {(is_bound ? ">= " : "") + value_text(f), {}}, {limit_text(f), {}}};
    if (counted) cells.push_back({counted_text(f), {}});
    cells.push_back({f.configuration, {}});
    grid.add(std::move(cells));
    if (!f.estimate.note.empty())
      notes += lines_of(fmt::format("{} {}: {}", f.memory, f.quantity, f.estimate.note), options.width);
  }
  std::string text = fmt::format("\n{} ({:.1f} s)\n", result.name, result.duration_s);
  grid.fit(options.width);
  if (!result.findings.empty()) text += grid.text(options.look);
  for (const std::string& note : result.notes) notes += lines_of(report::printable(note, text_limit), options.width);
  text += notes;
  if (options.all)
    for (const Plot& plot : result.plots) text += points_text(plot, options.width);
  return text;
}

}  // namespace

std::string value_text(const Finding& f) {
  return f.estimate.value ? with_unit(*f.estimate.value, f.estimate.unit) : "?";
}

std::string counted_text(const Finding& f) {
  return f.bytes ? fmt::format("{:.2f} %", 100 * f.bytes->by_counter / f.bytes->by_count) : "";
}

bool has_counted_bytes(const Result& result) {
  return std::any_of(result.findings.begin(), result.findings.end(),
                     [](const Finding& f) { return f.bytes.has_value(); });
}

std::string limit_text(const Finding& f) {
  return f.limit ? with_unit(*f.limit, f.estimate.unit) : "";
}

std::string render_table(const throughput::Report& report, const Options& options) {
  std::string text = lines_of(options.headline, options.width, 0);
  for (const Result& result : report.results) text += result_text(result, options);
  text += '\n' + lines_of("Every rate is the median of five runs; B/cycle are of one SM, GB/s (10^9) of the GPU.",
                          options.width, 0);
  if (report.interrupted) text += "Interrupted: what was done by then.\n";
  return text;
}

std::span<const Format> formats() {
  static constexpr std::array<Format, 4> all{
      {{"table", render_table}, {"json", render_json}, {"csv", render_csv}, {"html", render_html}}};
  return all;
}

}  // namespace gputopo::bench
