// The curves that decided a topology's values, and the counters' over them.
#include <algorithm>

#include <fmt/format.h>

#include "report/cell.hpp"
#include "report/html_plots.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

std::string with_unit(const Axis& axis) {
  // A tick says the unit of a size itself.
  constexpr std::size_t most = 58;  // characters of a plot's width
  return printable(axis.unit.empty() || axis.unit == "B" ? axis.label : fmt::format("{} ({})", axis.label, axis.unit),
                   most);
}

// Misses by counter of the same footprints, where somebody counted.
Curve counted(const Topology& topology, const DecidingCurve& decided) {
  Curve curve{"by counter", {}};
  if (decided.quantity != "size") return curve;
  for (const CrossCheck& c : topology.crosscheck)
    if (c.memory == decided.memory && c.metric.find(": ") == std::string::npos && c.loads != 0 &&
        c.carve_out_percent == 0)
      curve.points.emplace_back(static_cast<double>(c.size_bytes), c.by_counter / static_cast<double>(c.loads));
  std::sort(curve.points.begin(), curve.points.end());
  return curve;
}

// "241 KiB (241 KiB to 241.2 KiB (247040 B))", "60 MiB: told by the driver, not measured": as the tables have it.
std::string stated_text(const Memory* memory, const std::string& quantity) {
  if (memory == nullptr) return {};
  const Estimate* e = memory->find(quantity);
  const auto statement = memory->structure.find(quantity);
  if (e == nullptr && statement != memory->structure.end())
    return statement->second.value.empty() ? status_words(statement->second.status)
                                           : printable(statement->second.value, 40);
  if (e == nullptr) return {};
  const std::string words = status_words(e->status);
  const std::string value = plain_cell(e, true).text;
  const std::string interval = interval_words(*e);
  return value + (interval.empty() ? "" : fmt::format(" ({})", interval)) + (words.empty() ? "" : ": " + words);
}

// Where the curve changes, which is no value of the tables where that is a threshold, or one of several curves'.
std::string change_text(const DecidingCurve& c) {
  if (!c.change) return {};
  const std::string at = quantity_text(*c.change, c.x.unit);
  if (!c.interval || c.interval->low >= c.interval->high) return at;
  return fmt::format("{} ({} to {})", at, quantity_text(c.interval->low, c.x.unit),
                     quantity_text(c.interval->high, c.x.unit));
}

bool is_change_the_answer(const Memory* memory, const DecidingCurve& c) {
  const Estimate* e = memory == nullptr ? nullptr : memory->find(c.quantity);
  return e != nullptr && e->status == Status::measured && e->value && c.change && e->unit == c.x.unit &&
         quantity_text(*e->value, e->unit) == quantity_text(*c.change, c.x.unit);
}

std::string answer_text(const Memory* memory, const DecidingCurve& c) {
  const std::string stated = stated_text(memory, c.quantity);
  const std::string change = change_text(c);
  if (change.empty() || is_change_the_answer(memory, c)) return stated;
  return fmt::format("{}{}This curve changes at {}", stated, stated.empty() ? "" : ". ", change);
}

// "l1.geometry by misses, 698 programs".
std::string source_text(const DecidingCurve& c) {
  std::string text = c.source;
  if (!c.method.empty()) text += " by " + c.method;
  if (c.programs != 0) text += fmt::format(", {} program{}", c.programs, c.programs == 1 ? "" : "s");
  return text;
}

std::string figure(const Topology& topology, const DecidingCurve& decided) {
  const Memory* m = topology.find(decided.memory);
  CurvePlot plot;
  plot.title = fmt::format("{}: {}", m == nullptr || m->label.empty() ? decided.memory : m->label, decided.quantity);
  std::replace(plot.title.begin(), plot.title.end(), '_', ' ');
  plot.x_label = with_unit(decided.x);
  plot.y_label = with_unit(decided.y);
  plot.logarithmic_x = decided.x.logarithmic;
  plot.x_is_bytes = decided.x.unit == "B";
  plot.y_is_bytes = decided.y.unit == "B";
  plot.change = decided.change;
  plot.around = decided.interval;
  plot.width = 460, plot.height = 270;
  for (const Series& s : decided.series) plot.curves.push_back({printable(s.label, 58), s.points});
  if (Curve by_counter = counted(topology, decided); !by_counter.points.empty())
    plot.curves.push_back(std::move(by_counter));
  const std::string answer = answer_text(m, decided);
  return fmt::format("<figure>\n<h3>{}</h3>\n{}<figcaption>{}{}Source: {}.</figcaption>\n</figure>\n",
                     escape_html(printable(plot.title, 60)), curve_plot(plot), escape_html(answer),
                     answer.empty() ? "" : ". ", escape_html(printable(source_text(decided), 120)));
}

}  // namespace

std::string evidence_section(const Topology& topology, std::span<const Evidence> evidence) {
  std::string figures;
  for (const Evidence& e : evidence) {
    if (e.uuid != topology.gpu.uuid || e.created != topology.provenance.created) continue;
    for (const DecidingCurve& c : e.curves) figures += figure(topology, c);
  }
  if (figures.empty()) return {};
  return "<section class=\"long\"><h2>What decided it</h2>\n<p>For each value the curve that it was read from, with "
         "the "
         "experiment, its method and how many programs it had run by then. The line across is where it changes, the "
         "band that place's interval; what the tables say comes first.</p>\n<div class=\"figures\">\n" +
         figures + "</div></section>\n";
}

}  // namespace gputopo::report
