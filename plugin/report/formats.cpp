#include <algorithm>
#include <array>
#include <vector>

#include "report/legible.hpp"
#include "report/report.hpp"
#include "text/printable.hpp"

namespace gputopo::report {
namespace {

// What files hold in names is made legible here, for every format at once.
template <Renderer render>
std::string legibly(std::span<const Topology> topologies, const Options& options) {
  std::vector<Topology> copies;
  for (const Topology& topology : topologies) copies.push_back(legible(topology));
  Options shown = options;
  shown.headline = text::message(options.headline);
  return render(copies, shown);
}

constexpr std::array<Format, 5> all_formats{{{"table", legibly<render_table>},
                                             {"json", render_json},  // escapes by itself
                                             {"csv", legibly<render_csv>},
                                             {"markdown", legibly<render_markdown>},
                                             {"html", legibly<render_html>}}};

}  // namespace

std::span<const Format> formats() {
  return all_formats;
}

const Format* find_format(std::string_view name) {
  const auto found =
      std::find_if(all_formats.begin(), all_formats.end(), [&](const Format& f) { return f.name == name; });
  return found == all_formats.end() ? nullptr : &*found;
}

}  // namespace gputopo::report
