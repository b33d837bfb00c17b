#include "report/table_extras.hpp"

#include <array>

#include <fmt/format.h>

#include "report/boxes.hpp"
#include "report/chip_map.hpp"
#include "report/detail_tables.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

std::string titled(const Options& options, const std::string& title, const std::string& body) {
  return body.empty() ? std::string() : "\n" + painted(title, Tone::title, options.look) + "\n" + body;
}

// How much room a cell of the further tables takes, from the fullest to the narrowest; the first that fits is taken.
struct Fit {
  bool intervals;
  bool exact_sizes;
};
constexpr std::array<Fit, 3> fits{{{true, true}, {false, true}, {false, false}}};

std::string first_that_fits(const Options& options, const DetailMaker& make) {
  std::string text;
  for (const Fit& fit : fits) {
    Footnotes notes(options.look.unicode ? MarkStyle::raised : MarkStyle::ascii);
    DetailTable table =
        make(CellStyle{options.look.unicode, fit.intervals, fit.exact_sizes, true, true, !fit.intervals}, notes);
    if (table.rows.empty()) return {};
    Grid grid(std::move(table.columns));
    for (auto& row : table.rows) grid.add(std::move(row));
    const bool fitted = grid.width() <= options.width;
    if (!fitted && &fit == &fits.back()) grid.fit(options.width);
    text = titled(options, table.title,
                  grid.text(options.look) + painted_lines(notes.text(options.width), Tone::faint, options.look));
    if (fitted) break;
  }
  return text;
}

std::string groups(const Memory& m, const Options& options) {
  std::string text;
  for (std::size_t i = 0; i < m.sm_groups.size(); ++i) {
    const std::string line = fmt::format("  {:>3}: {:>3} SMs: {}", i, m.sm_groups[i].size(), sm_list(m.sm_groups[i]));
    for (const std::string& part : wrap(line, options.width, 16)) text += part + '\n';
  }
  return text;
}

std::string map_lines(const Topology& topology, const Options& options) {
  std::string text;
  for (const MapLevel& level : chip_map(topology))
    for (const std::string& line :
         wrap(fmt::format("{} ({}): {}", level.name, level.groups.size(), groups_text(level)), options.width, 4))
      text += line + '\n';
  return text;
}

}  // namespace

std::string table_extras(const Topology& topology, const Options& options) {
  std::string text = titled(options, "What lies in what", boxes(topology, options));
  for (const Memory& m : topology.memories)
    if (!repeats(topology, m))
      text += titled(options, memory_label(m, true) + ": SMs that share one", groups(m, options));
  text += titled(options, "Where the SMs sit, by group", map_lines(topology, options));
  for (const DetailMaker& make : detail_makers(topology)) text += first_that_fits(options, make);
  return text;
}

}  // namespace gputopo::report
