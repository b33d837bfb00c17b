#include <array>

#include "report/footnotes.hpp"
#include "report/grid.hpp"
#include "report/main_table.hpp"
#include "report/report.hpp"
#include "report/table_extras.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

// From the fullest to the narrowest; the first that fits is taken.
constexpr std::array<Detail, 4> details{
    {{true, true, true}, {false, true, true}, {false, false, true}, {false, false, false}}};

std::string lines_of(std::string_view text, std::size_t indent = 0) {
  std::string out;
  for (const std::string& line : wrap(text, table_width, indent)) out += line + '\n';
  return out;
}

std::string memories(const Topology& topology, const Options& options) {
  std::string text;
  for (const Detail& detail : details) {
    Footnotes notes(options.unicode ? MarkStyle::raised : MarkStyle::ascii);
    MainTable table = main_table(topology, detail, options.unicode, notes);
    Grid grid(std::move(table.columns));
    for (auto& row : table.rows) grid.add(std::move(row));
    text = grid.text(options.unicode ? "─" : "-") + '\n' + latency_legend + '\n' + notes.text(table_width) +
           lines_of(table.intervals);
    if (grid.width() <= table_width) break;
  }
  return text;
}

std::string one_table(const Topology& topology, const Options& options, const std::string& first_line) {
  std::string text = lines_of(first_line) + lines_of(gpu_facts(topology));
  if (is_truth(topology)) text += lines_of(truth_remark);
  text += '\n' + memories(topology, options);
  text += lines_of(shared_gpu_text(topology.provenance));
  for (const std::string& note : topology.provenance.notes) text += lines_of("Note: " + printable(note, 400), 6);
  if (options.all) text += table_extras(topology, options);
  return text;
}

}  // namespace

std::string render_table(std::span<const Topology> topologies, const Options& options) {
  std::string text;
  for (const Topology& topology : topologies) {
    if (!text.empty()) text += '\n';
    const bool given = topologies.size() == 1 && !options.headline.empty();
    text += one_table(topology, options, given ? options.headline : headline(topology));
  }
  return text;
}

}  // namespace gputopo::report
