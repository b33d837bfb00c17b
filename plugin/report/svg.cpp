#include "report/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "report/text.hpp"

namespace gputopo::report {
namespace {

// A page has room for labels beside the bars; a phone has it above them, and half the width.
struct Layout {
  std::string_view css;
  double width, label_width, value_width, row_height, bar_top;
  bool is_narrow() const { return label_width == 0; }
  double bar_room() const { return width - label_width - value_width; }
  double bar_height() const { return 20; }
};
constexpr std::array<Layout, 2> layouts{{{"wide", 900, 215, 220, 30, 5}, {"narrow", 380, 0, 12, 46, 21}}};

// Both, of which a page shows the one that fits.
template <class Draw>
std::string for_both(const Draw& draw) {
  std::string html;
  for (const Layout& layout : layouts) html += draw(layout);
  return html;
}

std::string open_svg(const Layout& layout, double height, const std::string& title) {
  return fmt::format("<svg class=\"{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", layout.css,
                     layout.width, height, escape_html(title));
}

std::string text_at(double x, double y, std::string_view css, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, css, escape_html(text));
}

std::string rectangle(double x, double y, double width, double height, std::string_view css) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" class=\"{}\"/>\n", x,
                     y, std::max(width, 1.0), height, css);
}

// Maps values to positions between 0 and the room for bars.
class Scale {
 public:
  Scale(const std::vector<Bar>& bars, bool logarithmic, double room) : logarithmic_(logarithmic), room_(room) {
    double smallest = 0;
    for (const Bar& bar : bars) {
      largest_ = std::max({largest_, bar.value, bar.high});
      if (bar.value > 0 && (smallest == 0 || bar.value < smallest)) smallest = bar.value;
    }
    // Half of the smallest value starts the axis, so that its bar has a length.
    if (logarithmic_) start_ = std::log2(std::max(smallest, 1e-9)) - 1;
  }
  double operator()(double value) const {
    if (largest_ <= 0 || value <= 0) return 0;
    const double share = logarithmic_ ? (std::log2(value) - start_) / (std::log2(largest_) - start_) : value / largest_;
    return std::clamp(share, 0.0, 1.0) * room_;
  }

 private:
  bool logarithmic_;
  double room_;
  double largest_ = 0;
  double start_ = 0;
};

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
  return out;
}

namespace {

// The bar's name, beside it or above.
std::string name_of_row(const Layout& layout, double y, std::string_view name) {
  return layout.is_narrow() ? text_at(0, y + 15, "name", name)
                            : text_at(layout.label_width - 10, y + layout.row_height / 2 + 4.5, "label", name);
}

std::string bar_row(const Layout& layout, const Scale& scale, const Bar& bar, double y) {
  const double top = y + layout.bar_top, middle = top + layout.bar_height() / 2, half = layout.bar_height() / 2;
  const double length = scale(bar.value);
  std::string svg = name_of_row(layout, y, bar.label);
  svg += rectangle(layout.label_width, top, length, layout.bar_height(), "bar " + bar.tone);
  double end = layout.label_width + length;
  if (bar.open_ended) {
    svg += fmt::format("<path d=\"M{0:.1f} {1:.1f} l9 {2:.1f} l-9 {2:.1f} z\" class=\"bar {3}\"/>\n", end + 2, top,
                       half, bar.tone);
    end += 11;
  }
  if (bar.low < bar.high) {
    const double low = layout.label_width + scale(bar.low);
    const double high = layout.label_width + scale(bar.high);
    svg += fmt::format(
        "<path d=\"M{0:.1f} {2:.1f} H{1:.1f} M{0:.1f} {3:.1f} v8 M{1:.1f} {3:.1f} v8\" class=\"whisker\"/>\n", low,
        high, middle, middle - 4);
    end = std::max(end, high);
  }
  return svg + (layout.is_narrow() ? text_at(layout.width, y + 15, "label", bar.value_text)
                                   : text_at(end + 10, middle + 4.5, "value", bar.value_text));
}

// What each part is called, in as many rows as that takes; `y` becomes where they end.
std::string part_legend(const Layout& layout, const std::vector<std::string>& part_names, double& y) {
  std::string svg;
  double x = layout.label_width;
  for (std::size_t part = 0; part < part_names.size(); ++part) {
    const double width = 40 + 8 * static_cast<double>(part_names[part].size());
    if (x + width > layout.width && x > layout.label_width) x = layout.label_width, y += 22;
    svg += rectangle(x, y + 5, 14, 14, fmt::format("bar part{}", part));
    svg += text_at(x + 20, y + 17, "value", part_names[part]);
    x += width;
  }
  y += 27;
  return svg;
}

}  // namespace

std::string bar_plot(const std::vector<Bar>& bars, bool logarithmic, const std::string& title) {
  return for_both([&](const Layout& layout) {
    const Scale scale(bars, logarithmic, layout.bar_room());
    std::string svg = open_svg(layout, layout.row_height * static_cast<double>(bars.size()) + 6, title);
    double y = 3;
    for (const Bar& bar : bars) svg += bar_row(layout, scale, bar, y), y += layout.row_height;
    return svg + "</svg>\n";
  });
}

std::string stacked_plot(const std::vector<StackedRow>& rows, const std::vector<std::string>& part_names,
                         const std::string& title) {
  double largest = 0;
  for (const StackedRow& row : rows)
    largest = std::max(largest, std::accumulate(row.parts.begin(), row.parts.end(), 0.0));
  if (largest <= 0) return {};
  return for_both([&](const Layout& layout) {
    double y = 3;
    std::string svg = part_legend(layout, part_names, y);
    for (const StackedRow& row : rows) {
      svg += name_of_row(layout, y, row.label);
      double x = layout.label_width;
      for (std::size_t part = 0; part < row.parts.size(); ++part) {
        const double width = row.parts[part] / largest * (layout.width - layout.label_width - 10);
        svg += rectangle(x, y + layout.bar_top, width, layout.bar_height(), fmt::format("bar part{}", part));
        if (width > 90) svg += text_at(x + 8, y + layout.bar_top + 14.5, "inside", brief_size_text(row.parts[part]));
        x += width;
      }
      y += layout.row_height;
    }
    return open_svg(layout, y + 3, title) + svg + "</svg>\n";
  });
}

std::string group_plot(const std::vector<std::vector<unsigned>>& groups, const std::string& title) {
  constexpr double cell = 26;
  return for_both([&](const Layout& layout) {
    const double first = layout.is_narrow() ? 34 : 68;
    const auto columns = static_cast<std::size_t>((layout.width - first) / cell);
    std::string body;
    double y = 3;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      body += text_at(first - 8, y + 17, "label", fmt::format("{}", group));
      for (std::size_t i = 0; i < groups[group].size(); ++i) {
        if (i > 0 && i % columns == 0) y += cell;
        const double x = first + cell * static_cast<double>(i % columns);
        body += rectangle(x, y, cell - 4, cell - 4, fmt::format("bar group{}", group % 8));
        body += text_at(x + (cell - 4) / 2, y + 15, "sm", fmt::format("{}", groups[group][i]));
      }
      y += cell + 4;
    }
    return open_svg(layout, y, title) + body + "</svg>\n";
  });
}

}  // namespace gputopo::report
