#include <algorithm>
#include <array>
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
constexpr std::size_t most_dots = 40;  // further apart than they are wide

class Axes {
 public:
  explicit Axes(const CurvePlot& plot) : plot_(plot) {
    bool first = true;
    const auto see_x = [&](double x) {
      low_ = first ? x : std::min(low_, x);
      high_ = first ? x : std::max(high_, x);
      first = false;
    };
    for (const Curve& curve : plot.curves)
      for (const auto& [x, y] : curve.points) see_x(x), least_ = std::min(least_, y), most_ = std::max(most_, y);
    if (plot.change && !first) see_x(*plot.change);
    if (plot.around && !first) see_x(plot.around->low), see_x(plot.around->high);
    if (!(most_ > least_)) most_ = least_ + 1;
    // All loads may have taken the same: room beside it, so that what rises there is seen to.
    if (low_ == high_) low_ -= plot.logarithmic_x ? low_ / 2 : 1, high_ += plot.logarithmic_x ? high_ : 1;
  }

  double place(double x) const {
    const double span = scaled(high_) - scaled(low_);
    const double share = span > 0 ? (scaled(x) - scaled(low_)) / span : 0.5;
    return left + std::clamp(share, 0.0, 1.0) * (plot_.width - left - right);
  }
  double rise(double y) const { return top + (most_ - y) / (most_ - least_) * (plot_.height - top - bottom); }
  double y_at(double share) const { return least_ + (most_ - least_) * share; }
  double at(double share) const {
    return plot_.logarithmic_x ? std::exp2(scaled(low_) + (scaled(high_) - scaled(low_)) * share)
                               : low_ + (high_ - low_) * share;
  }

 private:
  double scaled(double v) const { return plot_.logarithmic_x ? std::log2(std::max(v, 1e-9)) : v; }

  const CurvePlot& plot_;
  double low_ = 0, high_ = 1, least_ = 0, most_ = 0;  // of x, x, y, y
};

std::string tick_text(double value) {
  constexpr std::array<const char*, 5> thousands{"", " k", " M", " G", " T"};
  if (std::fabs(value) >= 1e6) {
    std::size_t unit = 0;
    for (; std::fabs(value) >= 1000 && unit + 1 < thousands.size(); ++unit) value /= 1000;
    return fmt::format("{:.3g}{}", value, thousands[unit]);
  }
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

// Three digits of a size: a tick needs no more.
std::string tick_text(double value, bool is_bytes) {
  if (!is_bytes) return tick_text(value);
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
    const double share = double(i) / rules, y = axes.y_at(share), x = axes.at(share);
    svg += fmt::format("<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>\n", left,
                       plot.width - right, axes.rise(y), axes.rise(y));
    svg += label_at(left - 8, axes.rise(y) + 4, "end", tick_text(y, plot.y_is_bytes));
    if (i % 2 == 0 || plot.width > 600)
      svg += label_at(axes.place(x), plot.height - bottom + 18,
                      i == rules ? "end"
                      : i == 0   ? "start"
                                 : "middle",
                      tick_text(x, plot.x_is_bytes));
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
  std::string svg = fmt::format(
      "<svg class=\"{}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", plot.css, plot.width,
      plot.height + legend_row * static_cast<double>(plot.curves.size()), escape_html(plot.title));
  svg += change_mark(plot, axes) + frame(plot, axes);
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    std::string points, dots;
    for (const auto& [x, y] : plot.curves[i].points) {
      points += fmt::format("{:.1f},{:.1f} ", axes.place(x), axes.rise(y));
      if (plot.curves[i].points.size() <= most_dots)
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" class=\"group{}\"/>\n", axes.place(x),
                            axes.rise(y), i % colours);
    }
    svg += fmt::format("<polyline points=\"{}\" class=\"curve group{}\"/>\n", points, i % colours) + dots;
    const double y = plot.height + legend_row * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"14\" height=\"10\" class=\"group{}\"/>\n", left, y,
                       i % colours);
    svg += label_at(left + 22, y + 10, "start", plot.curves[i].label);
  }
  return svg + "</svg>\n";
}

}  // namespace gputopo::report
