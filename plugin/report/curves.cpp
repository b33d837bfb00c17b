#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/svg.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr double width = 900, height = 340;
constexpr double left = 90, right = 20, top = 15, bottom = 50;
constexpr double legend_row = 20;
constexpr std::size_t colours = 8;
constexpr int rules = 4;

struct Axes {
  double low = 0, high = 1, most = 1;  // of x, x, y
  bool logarithmic = false;

  double place(double x) const {
    const auto scaled = [&](double v) { return logarithmic ? std::log2(std::max(v, 1e-9)) : v; };
    const double span = scaled(high) - scaled(low);
    return left + (span > 0 ? (scaled(x) - scaled(low)) / span : 0.5) * (width - left - right);
  }
  double rise(double y) const { return top + (1 - y / most) * (height - top - bottom); }
};

Axes axes_of(const std::vector<Curve>& curves, bool logarithmic) {
  Axes axes;
  axes.logarithmic = logarithmic;
  bool first = true;
  for (const Curve& curve : curves)
    for (const auto& [x, y] : curve.points) {
      axes.low = first ? x : std::min(axes.low, x);
      axes.high = first ? x : std::max(axes.high, x);
      axes.most = first ? y : std::max(axes.most, y);
      first = false;
    }
  if (!(axes.most > 0)) axes.most = 1;
  return axes;
}

std::string tick_text(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string label_at(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escape_html(text));
}

std::string frame(const Axes& axes, const std::string& x_label, const std::string& y_label) {
  std::string svg;
  for (int i = 0; i <= rules; ++i) {
    const double y = axes.most * i / rules;
    svg += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>\n", left, width - right,
                       axes.rise(y), axes.rise(y));
    svg += label_at(left - 8, axes.rise(y) + 4, "end", tick_text(y));
    const double x = axes.logarithmic ? axes.low * std::pow(axes.high / std::max(axes.low, 1e-9), double(i) / rules)
                                      : axes.low + (axes.high - axes.low) * i / rules;
    svg += label_at(axes.place(x), height - bottom + 18, "middle", tick_text(x));
  }
  svg += label_at((left + width - right) / 2, height - bottom + 38, "middle", x_label);
  return svg + label_at(left, top - 3, "start", y_label);
}

}  // namespace

std::string curve_plot(const std::vector<Curve>& curves, bool logarithmic_x, const std::string& x_label,
                       const std::string& y_label, const std::string& title) {
  const Axes axes = axes_of(curves, logarithmic_x);
  std::string svg = fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", width,
                                height + legend_row * static_cast<double>(curves.size()), escape_html(title));
  svg += frame(axes, x_label, y_label);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::string points;
    for (const auto& [x, y] : curves[i].points) points += fmt::format("{:.1f},{:.1f} ", axes.place(x), axes.rise(y));
    svg += fmt::format("<polyline points=\"{}\" class=\"curve group{}\"/>\n", points, i % colours);
    const double y = height + legend_row * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"14\" height=\"10\" class=\"group{}\"/>\n", left, y,
                       i % colours);
    svg += label_at(left + 22, y + 10, "start", curves[i].label);
  }
  return svg + "</svg>\n";
}

}  // namespace gputopo::report
