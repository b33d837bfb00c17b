#include <algorithm>
#include <array>

#include "report/report.hpp"

namespace gputopo::report {
namespace {

constexpr std::array<Format, 5> all_formats{{{"table", render_table},
                                             {"json", render_json},
                                             {"csv", render_csv},
                                             {"markdown", render_markdown},
                                             {"html", render_html}}};

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
