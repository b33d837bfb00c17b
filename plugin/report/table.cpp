#include <array>

#include "report/bandwidth.hpp"
#include "report/footnotes.hpp"
#include "report/grid.hpp"
#include "report/main_table.hpp"
#include "report/report.hpp"
#include "report/table_extras.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

// From the fullest to the narrowest; the first that fits is taken.
constexpr std::array<Detail, 6> details{{{},
                                         {false},
                                         {false, false},
                                         {false, false, false},
                                         {false, false, false, true, false},
                                         {false, false, false, false, false}}};

std::string lines_of(std::string_view text, const Options& options, std::size_t indent = 0) {
  std::string out;
  for (const std::string& line : wrap(text, options.width, indent)) out += line + '\n';
  return out;
}

std::string memories(const Topology& topology, const Options& options) {
  std::string text;
  for (const Detail& detail : details) {
    Footnotes notes(options.look.unicode ? MarkStyle::raised : MarkStyle::ascii);
    MainTable table = main_table(topology, detail, options.look.unicode, notes);
    Grid grid(std::move(table.columns));
    for (auto& row : table.rows) grid.add(std::move(row));
    const bool fits = grid.width() <= options.width;
    if (!fits && &detail == &details.back()) grid.fit(options.width);
    text = grid.text(options.look) + '\n' +
           painted_lines(latency_legend + ("\n" + notes.text(options.width)) + lines_of(table.intervals, options),
                         Tone::faint, options.look);
    if (fits) break;
  }
  return text;
}

std::string bandwidths(const Topology& topology, const Options& options) {
  BandwidthTable table = bandwidth_table(topology, false, options.look.unicode);
  if (table.rows.empty()) return {};
  Grid grid(std::move(table.columns));
  for (auto& row : table.rows) grid.add(std::move(row));
  grid.fit(options.width);
  return '\n' + painted(bandwidth_title, Tone::title, options.look) + '\n' + grid.text(options.look) + '\n' +
         painted_lines(lines_of(table.legend, options), Tone::faint, options.look);
}

std::string one_table(const Topology& topology, const Options& options, const std::string& first_line) {
  std::string text = painted_lines(lines_of(first_line, options), Tone::title, options.look);
  text += lines_of(gpu_facts(topology), options);
  if (is_truth(topology)) text += lines_of(truth_remark, options);
  text += '\n' + memories(topology, options);
  text += lines_of(shared_gpu_text(topology.provenance), options);
  text += lines_of(earlier_runs_text(topology), options);
  for (const std::string& note : topology.provenance.notes)
    text += lines_of("Note: " + printable(note, 400), options, 6);
  text += bandwidths(topology, options);
  if (options.all) text += table_extras(topology, options);
  return text;
}

}  // namespace

std::string render_table(std::span<const Topology> topologies, const Options& options) {
  std::string text;
  for (std::size_t i = 0; i < topologies.size(); ++i) {
    if (!text.empty()) text += '\n';
    const bool given = topologies.size() == 1 && !options.headline.empty();
    text += one_table(topologies[i], options, given ? options.headline : heading(topologies, i, options.numbers));
  }
  return text;
}

}  // namespace gputopo::report
