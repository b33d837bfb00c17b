#include "report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr double plot_width = 900;
constexpr double label_width = 170;
constexpr double value_width = 220;
constexpr double bar_room = plot_width - label_width - value_width;
constexpr double row_height = 30;

std::string open_svg(double height, const std::string& title) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", plot_width, height,
                     escape_html(title));
}

std::string text_at(double x, double y, std::string_view css, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, css, escape_html(text));
}

std::string rectangle(double x, double y, double width, double height, std::string_view css) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" class=\"{}\"/>\n", x,
                     y, std::max(width, 1.0), height, css);
}

// Maps values to positions between 0 and bar_room.
class Scale {
 public:
  Scale(const std::vector<Bar>& bars, bool logarithmic) : logarithmic_(logarithmic) {
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
    return std::clamp(share, 0.0, 1.0) * bar_room;
  }

 private:
  bool logarithmic_;
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

std::string bar_plot(const std::vector<Bar>& bars, bool logarithmic, const std::string& title) {
  const Scale scale(bars, logarithmic);
  std::string svg = open_svg(row_height * static_cast<double>(bars.size()) + 6, title);
  double y = 3;
  for (const Bar& bar : bars) {
    const double middle = y + row_height / 2;
    const double length = scale(bar.value);
    svg += text_at(label_width - 10, middle + 4.5, "label", bar.label);
    svg += rectangle(label_width, y + 5, length, row_height - 10, "bar " + bar.tone);
    double end = label_width + length;
    if (bar.open_ended) {
      svg += fmt::format("<path d=\"M{0:.1f} {1:.1f} l9 {2:.1f} l-9 {2:.1f} z\" class=\"bar {3}\"/>\n", end + 2, y + 5,
                         row_height / 2 - 5, bar.tone);
      end += 11;
    }
    if (bar.low < bar.high) {
      const double low = label_width + scale(bar.low);
      const double high = label_width + scale(bar.high);
      svg += fmt::format(
          "<path d=\"M{0:.1f} {2:.1f} H{1:.1f} M{0:.1f} {3:.1f} v8 M{1:.1f} {3:.1f} v8\" class=\"whisker\"/>\n", low,
          high, middle, middle - 4);
      end = std::max(end, high);
    }
    svg += text_at(end + 10, middle + 4.5, "value", bar.value_text);
    y += row_height;
  }
  return svg + "</svg>\n";
}

std::string stacked_plot(const std::vector<StackedRow>& rows, const std::vector<std::string>& part_names,
                         const std::string& title) {
  double largest = 0;
  for (const StackedRow& row : rows)
    largest = std::max(largest, std::accumulate(row.parts.begin(), row.parts.end(), 0.0));
  if (largest <= 0) return {};
  std::string svg = open_svg(row_height * static_cast<double>(rows.size() + 1) + 6, title);
  double x = label_width;
  for (std::size_t part = 0; part < part_names.size(); ++part) {
    svg += rectangle(x, 8, 14, 14, fmt::format("bar part{}", part));
    svg += text_at(x + 20, 20, "value", part_names[part]);
    x += 40 + 8 * static_cast<double>(part_names[part].size());
  }
  double y = row_height + 3;
  for (const StackedRow& row : rows) {
    svg += text_at(label_width - 10, y + row_height / 2 + 4.5, "label", row.label);
    x = label_width;
    for (std::size_t part = 0; part < row.parts.size(); ++part) {
      const double width = row.parts[part] / largest * (plot_width - label_width - 10);
      svg += rectangle(x, y + 4, width, row_height - 8, fmt::format("bar part{}", part));
      if (width > 90) svg += text_at(x + 8, y + row_height / 2 + 4.5, "inside", size_text(row.parts[part]));
      x += width;
    }
    y += row_height;
  }
  return svg + "</svg>\n";
}

std::string group_plot(const std::vector<std::vector<unsigned>>& groups, const std::string& title) {
  constexpr double cell = 26;
  constexpr std::size_t columns = 32;
  std::string body;
  double y = 3;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    body += text_at(60, y + 17, "label", fmt::format("{}", group));
    for (std::size_t i = 0; i < groups[group].size(); ++i) {
      if (i > 0 && i % columns == 0) y += cell;
      const double x = 68 + cell * static_cast<double>(i % columns) * 0.99;
      body += rectangle(x, y, cell - 4, cell - 4, fmt::format("bar group{}", group % 8));
      body += text_at(x + (cell - 4) / 2, y + 15, "sm", fmt::format("{}", groups[group][i]));
    }
    y += cell + 4;
  }
  return open_svg(y, title) + body + "</svg>\n";
}

}  // namespace gputopo::report
