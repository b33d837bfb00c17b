#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/svg.hpp"
#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr double left = 64, right = 22, top = 26, bottom = 52;
constexpr double legend_row = 20;
constexpr std::size_t colours = 8;
constexpr int rules = 4;

class Axes {
 public:
  explicit Axes(const CurvePlot& plot) : plot_(plot) {
    bool first = true;
    const auto see = [&](double x, double y) {
      low_ = first ? x : std::min(low_, x);
      high_ = first ? x : std::max(high_, x);
      most_ = first ? y : std::max(most_, y);
      first = false;
    };
    for (const Curve& curve : plot.curves)
      for (const auto& [x, y] : curve.points) see(x, y);
    if (!(most_ > 0)) most_ = 1;
  }

  double place(double x) const {
    const double span = scaled(high_) - scaled(low_);
    const double share = span > 0 ? (scaled(x) - scaled(low_)) / span : 0.5;
    return left + std::clamp(share, 0.0, 1.0) * (plot_.width - left - right);
  }
  double rise(double y) const { return top + (1 - y / most_) * (plot_.height - top - bottom); }
  double most() const { return most_; }
  double at(double share) const {
    return plot_.logarithmic_x ? low_ * std::pow(high_ / std::max(low_, 1e-9), share) : low_ + (high_ - low_) * share;
  }

 private:
  double scaled(double v) const { return plot_.logarithmic_x ? std::log2(std::max(v, 1e-9)) : v; }

  const CurvePlot& plot_;
  double low_ = 0, high_ = 1, most_ = 1;  // of x, x, y
};

std::string tick_text(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// Three digits of a size: a tick needs no more.
std::string x_text(const CurvePlot& plot, double value) {
  if (!plot.x_is_bytes) return tick_text(value);
  std::size_t unit = 0;
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return fmt::format("{} {}", tick_text(value), units[unit]);
}

std::string label_at(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escape_html(text));
}

std::string frame(const CurvePlot& plot, const Axes& axes) {
  std::string svg;
  for (int i = 0; i <= rules; ++i) {
    const double share = double(i) / rules, y = axes.most() * share, x = axes.at(share);
    svg += fmt::format("<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>\n", left,
                       plot.width - right, axes.rise(y), axes.rise(y));
    svg += label_at(left - 8, axes.rise(y) + 4, "end", tick_text(y));
    if (i % 2 == 0 || plot.width > 600)
      svg += label_at(axes.place(x), plot.height - bottom + 18,
                      i == rules ? "end"
                      : i == 0   ? "start"
                                 : "middle",
                      x_text(plot, x));
  }
  svg += label_at((left + plot.width - right) / 2, plot.height - bottom + 38, "middle", plot.x_label);
  return svg + label_at(2, top - 11, "start", plot.y_label);
}

std::string change_mark(const CurvePlot& plot, const Axes& axes) {
  if (!plot.change) return {};
  std::string svg;
  const double height = plot.height - top - bottom;
  if (plot.around) {
    const double from = axes.place(plot.around->low), to = axes.place(plot.around->high);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"around\"/>\n", from,
                       top, std::max(to - from, 3.0), height);
  }
  const double x = axes.place(*plot.change);
  return svg + fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.1f}\" class=\"change\"/>\n", x,
                           top, top + height);
}

}  // namespace

std::string curve_plot(const CurvePlot& plot) {
  const Axes axes(plot);
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", plot.width,
                  plot.height + legend_row * static_cast<double>(plot.curves.size()), escape_html(plot.title));
  svg += change_mark(plot, axes) + frame(plot, axes);
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    std::string points;
    for (const auto& [x, y] : plot.curves[i].points)
      points += fmt::format("{:.1f},{:.1f} ", axes.place(x), axes.rise(y));
    svg += fmt::format("<polyline points=\"{}\" class=\"curve group{}\"/>\n", points, i % colours);
    const double y = plot.height + legend_row * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"14\" height=\"10\" class=\"group{}\"/>\n", left, y,
                       i % colours);
    svg += label_at(left + 22, y + 10, "start", plot.curves[i].label);
  }
  return svg + "</svg>\n";
}

}  // namespace gputopo::report
