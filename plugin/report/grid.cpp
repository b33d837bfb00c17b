#include "report/grid.hpp"

#include <algorithm>

#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr std::size_t indent_below = 4;

// Right-aligned texts end at the same column and their marks hang over; left-aligned ones are followed by their marks.
void append_cell(std::string& line, const Cell& cell, Align align, std::size_t width, std::size_t mark_width,
                 std::size_t gap, const Look& look) {
  const std::string shown = cell.text + cell.mark;
  const std::size_t hang = mark_width - std::min(mark_width, display_width(cell.mark));
  const std::size_t used = std::min(width, display_width(shown) + (align == Align::right ? hang : 0));
  if (align == Align::right) line.append(width - used, ' ');
  line += painted(cell.text, cell.tone, look) + painted(cell.mark, Tone::faint, look);
  line.append((align == Align::right ? hang : width - used) + gap, ' ');
}

void end_line(std::string& text, std::string line) {
  line.resize(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

}  // namespace

std::string heading_of(const Column& column) {
  return column.unit.empty() ? column.title : column.title + " (" + column.unit + ")";
}

std::vector<Grid::Width> Grid::widths() const {
  std::vector<Width> widths(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    Width& width = widths[i];
    std::size_t text = 0;
    std::size_t both = 0;
    for (const auto& row : rows_) {
      if (i >= row.size()) continue;
      text = std::max(text, display_width(row[i].text));
      width.mark = std::max(width.mark, display_width(row[i].mark));
      both = std::max(both, display_width(row[i].text) + display_width(row[i].mark));
    }
    if (is_below(i)) continue;
    if (columns_[i].align == Align::left || !marks_hang_) width.mark = 0;
    width.all = std::max(width.mark == 0 ? both : text + width.mark,
                         std::max(display_width(columns_[i].title), display_width(columns_[i].unit)));
  }
  return widths;
}

std::size_t Grid::width() const {
  std::size_t total = 0;
  const auto all = widths();
  for (std::size_t i = 0; i < all.size(); ++i) total += is_below(i) ? 0 : all[i].all + gap_;
  return total - std::min(total, gap_);
}

void Grid::fit(std::size_t width) {
  if (this->width() <= width) return;
  gap_ = 1;
  marks_hang_ = false;
  if (this->width() <= width) return;
  gap_ = 2;
  below_ = width;
}

void Grid::append_below(std::string& text, const std::string& cell) const {
  if (cell.empty()) return;
  const std::string indent(indent_below, ' ');
  for (const std::string& line : wrap(indent + cell, below_, indent_below)) end_line(text, line);
}

std::string Grid::text(const Look& look) const {
  const auto width = widths();
  std::string text;
  std::string titles;
  std::string units;
  std::string rules;
  const std::size_t beside = columns_.size() - (below_ == 0 ? 0 : 1);
  for (std::size_t i = 0; i < beside; ++i) {
    append_cell(titles, {columns_[i].title, {}, Tone::title}, columns_[i].align, width[i].all, 0, gap_, look);
    append_cell(units, {columns_[i].unit, {}, Tone::title}, columns_[i].align, width[i].all, 0, gap_, look);
    for (std::size_t k = 0; k < width[i].all; ++k) rules += rule_of(look);
    rules.append(gap_, ' ');
  }
  end_line(text, titles);
  const bool has_units =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return !column.unit.empty(); });
  if (has_units) end_line(text, units);
  if (beside < columns_.size()) append_below(text, heading_of(columns_.back()));
  end_line(text, rules);
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size() && i < beside; ++i)
      append_cell(line, row[i], columns_[i].align, width[i].all, width[i].mark, gap_, look);
    end_line(text, line);
    if (beside < row.size()) append_below(text, row[beside].text + row[beside].mark);
  }
  return text;
}

}  // namespace gputopo::report
