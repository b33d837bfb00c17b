// The chip as boxes in one another, of areas to scale, and its SMs coloured by what they belong to.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "report/chip_map.hpp"
#include "report/html_plots.hpp"
#include "report/svg.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr double width = 900, box_gap = 4, label_height = 20;
constexpr std::size_t most_sms = 1024;                         // that are drawn
constexpr double area_of_all = 220e3, most_area_of_sm = 4000;  // square units

double size_of(const Topology& t, std::string_view id) {
  const Memory* m = t.find(id);
  const Estimate* e = m == nullptr ? nullptr : m->find("size");
  return e != nullptr && e->value && e->status != Status::inconclusive && *e->value > 0 ? *e->value : 0;
}

struct Part {
  std::string label, tone;
  double bytes = 0;
};

// What one SM has: caches that are one are drawn once, and what shares an array with shared memory is that array.
std::vector<Part> parts_of_sm(const Topology& t) {
  std::vector<Part> parts;
  std::vector<std::string> drawn;
  for (const char* id : {"l1", "texture", "read_only", "shared", "constant_l1"}) {
    const Memory* m = t.find(id);
    double bytes = size_of(t, id);
    if (m == nullptr || bytes == 0 || (m->scope && *m->scope != Scope::sm)) continue;
    const std::string& one = m->physical_cache.empty() ? m->id : m->physical_cache;
    if (std::find(drawn.begin(), drawn.end(), one) != drawn.end()) continue;
    drawn.push_back(one);
    std::string label = m->label.empty() ? m->id : m->label;
    if (!m->carve_outs.empty()) {
      const CarveOut& c = m->carve_outs.front();
      const double array =
          c.shared_bytes.value.value_or(0) + c.usable_bytes.value.value_or(0) + c.reserved_bytes.value.value_or(0);
      if (array > bytes) bytes = array, label += " and shared memory", drawn.emplace_back("shared");
    }
    const double copies = m->instances_per_scope.value_or(1);
    parts.push_back({std::move(label),
                     m->id == "constant_l1" ? "scratchpad"
                     : m->id == "shared"    ? "part2"
                                            : "near",
                     bytes * copies});
  }
  return parts;
}

// SMs that share a constant L1.5; all of them where that isn't known.
std::vector<std::size_t> groups_of(const Topology& t) {
  std::vector<std::size_t> sizes;
  if (const Memory* m = t.find("constant_l1_5"))
    for (const auto& group : m->sm_groups) sizes.push_back(group.size());
  if (sizes.empty()) sizes.push_back(t.gpu.sm_count);
  return sizes;
}

std::string box(double x, double y, double w, double h, std::string_view css, std::string_view title = {}) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.2f}\" class=\"{}\"><title>{}</title></rect>\n", x,
      y, w, h, css, escape_html(title));
}

std::string label(double x, double y, std::string_view text, std::string_view css = "value") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, css, escape_html(text));
}

class Drawing {
 public:
  explicit Drawing(const Topology& t)
      : t_(t), parts_(parts_of_sm(t)), l2_(size_of(t, "l2")), l1_5_(size_of(t, "constant_l1_5")) {
    const double of_sm =
        std::accumulate(parts_.begin(), parts_.end(), 0.0, [](double sum, const Part& p) { return sum + p.bytes; });
    const double all = l2_ + of_sm * t.gpu.sm_count + l1_5_ * static_cast<double>(groups_of(t).size());
    if (of_sm > 0 && count_sms() <= most_sms) scale_ = std::min(area_of_all / all, most_area_of_sm / of_sm);
    for (const Part& p : parts_) sm_width_ += side(p.bytes) + box_gap, sm_height_ = std::max(sm_height_, side(p.bytes));
    sm_width_ += box_gap, sm_height_ += 2 * box_gap;
  }
  bool is_empty() const { return scale_ == 0; }

  std::string svg() {
    double x = 2 * box_gap, y = label_height + box_gap, row = 0;
    for (const std::size_t sms : groups_of(t_)) {
      const double columns = columns_for(static_cast<double>(sms));
      const double rows = std::ceil(static_cast<double>(sms) / columns), shared = side(l1_5_);
      const double w = std::max(columns * (sm_width_ + box_gap) + box_gap, shared + 2 * box_gap);
      const double h = rows * (sm_height_ + box_gap) + box_gap + (shared > 0 ? shared + box_gap : 0);
      if (x + w > width - 2 * box_gap && x > 2 * box_gap) x = 2 * box_gap, y += row + box_gap, row = 0;
      group(x, y, w, h, sms, static_cast<std::size_t>(columns));
      x += w + box_gap, row = std::max(row, h);
    }
    y += row + box_gap;
    if (l2_ > 0) {
      const double w = width - 4 * box_gap, h = l2_ * scale_ / w;
      body_ += box(2 * box_gap, y, w, h, "far", "L2, " + size_text(l2_));
      if (h > label_height) body_ += label(4 * box_gap, y + h / 2 + 4, "L2, " + size_text(l2_), "inside");
      y += h + box_gap;
    }
    return fmt::format(
               "<svg class=\"chip\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"The chip's memories, to "
               "scale\">\n",
               width, y + box_gap) +
           box(box_gap, 1, width - 2 * box_gap, y + box_gap - 2, "outline") +
           label(3 * box_gap, 15, fmt::format("{}, {} SMs", t_.gpu.name, t_.gpu.sm_count)) + body_ + "</svg>\n";
  }

  std::string legend() const {
    std::string items;
    const auto add = [&](const std::string& tone, const std::string& text) {
      items += fmt::format(
          "<li><svg class=\"key\" viewBox=\"0 0 14 10\"><rect width=\"14\" height=\"10\" class=\"{}\"/></svg> "
          "{}</li>\n",
          tone, escape_html(text));
    };
    for (const Part& p : parts_) add(p.tone, fmt::format("{} of an SM: {}", p.label, size_text(p.bytes)));
    const Memory* l1_5 = t_.find("constant_l1_5");
    const bool is_gpc = l1_5 != nullptr && l1_5->scope == Scope::gpc;
    if (l1_5_ > 0)
      add("memory", fmt::format("Constant L1.5 cache of a {}: {}", is_gpc ? "GPC" : "group of SMs", size_text(l1_5_)));
    if (l2_ > 0) add("far", "L2: " + size_text(l2_));
    if (const double memory = size_of(t_, "device_memory"); memory > 0)
      items += fmt::format("<li>Device memory, {}, would take {:.0f} times the area of all this.</li>\n",
                           escape_html(size_text(memory)), memory * scale_ / area());
    return "<ul class=\"legend\">\n" + items + "</ul>\n";
  }

 private:
  // About twice as wide as high, with the fewest places left empty.
  double columns_for(double sms) const {
    const double most = std::max(1.0, std::floor((width - 8 * box_gap) / (sm_width_ + box_gap)));
    const double about = std::ceil(std::sqrt(1.8 * sms * sm_height_ / sm_width_));
    double best = std::clamp(about, 1.0, most);
    const auto empty = [&](double columns) { return std::ceil(sms / columns) * columns - sms; };
    for (const double columns : {about - 1, about + 1})
      if (columns >= 1 && columns <= most && empty(columns) < empty(best)) best = columns;
    return best;
  }
  std::size_t count_sms() const {
    const auto groups = groups_of(t_);
    return std::accumulate(groups.begin(), groups.end(), std::size_t{0});
  }
  double side(double bytes) const { return std::sqrt(bytes * scale_); }
  double area() const {
    double bytes = l2_ + l1_5_ * static_cast<double>(groups_of(t_).size());
    for (const Part& p : parts_) bytes += p.bytes * t_.gpu.sm_count;
    return bytes * scale_;
  }

  void group(double x, double y, double w, double h, std::size_t sms, std::size_t columns) {
    body_ += box(x, y, w, h, "outline", fmt::format("{} SMs", sms));
    double below = y + box_gap;
    if (l1_5_ > 0) {
      body_ += box(x + box_gap, below, side(l1_5_), side(l1_5_), "memory", "Constant L1.5 cache, " + size_text(l1_5_));
      below += side(l1_5_) + box_gap;
    }
    for (std::size_t i = 0; i < sms; ++i) {
      const double from = x + box_gap + static_cast<double>(i % columns) * (sm_width_ + box_gap);
      const double at = below + static_cast<double>(i / columns) * (sm_height_ + box_gap);
      body_ += box(from, at, sm_width_, sm_height_, "outline", "an SM");
      double inside = from + box_gap;
      for (const Part& p : parts_) {
        body_ += box(inside, at + box_gap, side(p.bytes), side(p.bytes), p.tone, p.label + ", " + size_text(p.bytes));
        inside += side(p.bytes) + box_gap;
      }
    }
  }

  const Topology& t_;
  std::vector<Part> parts_;
  double l2_ = 0, l1_5_ = 0;
  double scale_ = 0;  // square units a byte
  double sm_width_ = 0, sm_height_ = 0;
  std::string body_;
};

// One square an SM, in the order of their numbers, with its group's number and colour.
std::string sm_map(const std::string& name, const std::vector<MapLevel::Group>& groups, std::uint32_t sm_count,
                   const std::string& method) {
  constexpr double cell = 28, columns = 16;
  std::string body;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::uint32_t sm : groups[g].sms) {
      if (sm >= std::min<std::size_t>(sm_count, most_sms)) continue;
      const double x = sm % static_cast<std::uint32_t>(columns) * cell,
                   y = sm / static_cast<std::uint32_t>(columns) * 24;
      body += box(x, y, cell - 3, 21, fmt::format("group{}", g % 8),
                  fmt::format("SM {}, {} {}", sm, name, groups[g].label));
      body += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"sm\">{}</text>\n", x + (cell - 3) / 2, y + 14.5,
                          groups[g].label);
    }
  const double height = std::ceil(static_cast<double>(std::min<std::size_t>(sm_count, most_sms)) / columns) * 24;
  return fmt::format(
      "<figure>\n<h3>{0}: {1}</h3>\n<svg viewBox=\"0 0 {2:.0f} {3:.0f}\" role=\"img\" aria-label=\"SMs by "
      "{0}\">\n{4}</svg>\n{5}</figure>\n",
      escape_html(name), groups.size(), cell * columns, height, body,
      method.empty() ? "" : fmt::format("<figcaption>Source: {}.</figcaption>\n", escape_html(printable(method, 60))));
}

// A kind of place is the scope of something that its SMs share.
std::string method_of_places(const Topology& t, std::string_view kind) {
  for (const Memory& m : t.memories) {
    const auto sides = m.structure.find("l2_sides");
    if (kind == "l2_partition" && sides != m.structure.end()) return sides->second.method;
    if (m.scope && to_string(*m.scope) == kind) return method_of_scope(m);
  }
  return {};
}

std::string sm_maps(const Topology& t) {
  std::string maps;
  for (const MapLevel& level : chip_map(t))
    maps += sm_map(std::string(level.name), level.groups, t.gpu.sm_count, method_of_places(t, level.id));
  for (const Memory& m : t.memories) {
    if (m.sm_groups.empty()) continue;
    std::vector<MapLevel::Group> groups;
    for (const auto& sms : m.sm_groups) groups.push_back({static_cast<std::uint32_t>(groups.size()), sms});
    maps += sm_map(memory_label(m, true), groups, t.gpu.sm_count, method_of_scope(m));
  }
  return maps;
}

}  // namespace

std::string chip_section(const Topology& topology) {
  Drawing drawing(topology);
  const std::string maps = sm_maps(topology);
  std::string html;
  if (!drawing.is_empty())
    html +=
        "<section class=\"long\"><h2>The chip, to scale</h2>\n<p>Each filled box's area is its bytes.</p>\n<div "
        "class=\"scroll\">" +
        drawing.svg() + "</div>\n" + drawing.legend() +
        "<p class=\"source\">Source: sizes and scopes as in the table.</p></section>\n";
  if (!maps.empty())
    html +=
        "<section class=\"long\"><h2>What SMs belong to</h2>\n<p>A square is an SM, from left to right in the order of "
        "their numbers; "
        "the number in it is its group's.</p>\n<div class=\"figures\">\n" +
        maps + "</div></section>\n";
  return html;
}

}  // namespace gputopo::report
