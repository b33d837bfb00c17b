// Cells set into aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/look.hpp"

namespace gputopo::report {

/// What stands in one field. The mark (a footnote's) follows the text but doesn't disturb its alignment.
struct Cell {
  std::string text;
  std::string mark;
  Tone tone = Tone::plain;
};

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  std::string unit = {};  ///< of the column's numbers: a second line of the titles
};

/// "Latency (cycles)": title and unit in one, for formats without a line for units.
std::string heading_of(const Column& column);

/// A title row, one with units where a column has one, a rule and the rows. Rows may be shorter than `columns`.
class Grid {
 public:
  explicit Grid(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  /// Widest line in columns of a terminal.
  std::size_t width() const;
  /// Makes a table that is wider than `width` as narrow as it has to be: first columns stand one apart and marks count
  /// as part of their numbers; where that isn't enough, the last column's cells stand below their rows.
  void fit(std::size_t width);
  /// Lines without trailing spaces, each ending in a newline.
  std::string text(const Look& look) const;

 private:
  struct Width {
    std::size_t all = 0;
    std::size_t mark = 0;  // of right-aligned columns: room for the longest
  };
  std::vector<Width> widths() const;

  bool is_below(std::size_t column) const { return below_ != 0 && column + 1 == columns_.size(); }
  void append_below(std::string& text, const std::string& cell) const;

  std::size_t gap_ = 2;
  bool marks_hang_ = true;
  std::size_t below_ = 0;  // the width that the last column has below the rows; 0 where it stands in them
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace gputopo::report
