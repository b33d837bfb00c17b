// Scalable vector graphics, as far as the report's plots need them. Text is escaped here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/estimate.hpp"

namespace gputopo::report {

/// The text with &, <, > and quotes as entities, and without control characters.
std::string escape_html(std::string_view text);

/// A horizontal bar: its value and interval are drawn from `low_end` to `value`, on the plot's scale.
struct Bar {
  std::string label;
  std::string value_text;  ///< written behind the bar
  double value = 0;
  double low = 0;  ///< interval, drawn as a whisker where low < high
  double high = 0;
  bool open_ended = false;  ///< the value is a bound: the bar ends in an arrow
  std::string tone;         ///< CSS class of the bar
};

/// Labelled bars, one below the other; as all plots of whole pages twice, in classes `wide` and `narrow`. `logarithmic`
/// scales by powers of two. `title` is what a screen reader says.
std::string bar_plot(const std::vector<Bar>& bars, bool logarithmic, const std::string& title);

/// Parts of a whole in one bar, such as what a carve-out leaves; rows share one scale.
struct StackedRow {
  std::string label;
  std::vector<double> parts;
};

std::string stacked_plot(const std::vector<StackedRow>& rows, const std::vector<std::string>& part_names,
                         const std::string& title);

/// One square a SM, a row a group.
std::string group_plot(const std::vector<std::vector<unsigned>>& groups, const std::string& title);

/// One line of a plot, by ascending x.
struct Curve {
  std::string label;
  std::vector<std::pair<double, double>> points;
};

/// Curves over one pair of axes, y from 0 on or from what is less, with their labels below. Few points have dots.
struct CurvePlot {
  std::string title;  ///< what a screen reader says
  std::string x_label, y_label;
  std::vector<Curve> curves;
  bool logarithmic_x = false;  ///< by powers of two
  bool x_is_bytes = false;     ///< its numbers are sizes
  bool y_is_bytes = false;
  std::optional<double> change;    ///< a line across at this x
  std::optional<Interval> around;  ///< a band around that
  double width = 900, height = 340;
  std::string_view css;  ///< class of the picture
};
std::string curve_plot(const CurvePlot& plot);

}  // namespace gputopo::report
