#include "report/grid.hpp"

#include <algorithm>

#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr std::size_t gap = 2;

// Right-aligned texts end at the same column and their marks hang over; left-aligned ones are followed by their marks.
void append_cell(std::string& line, const Cell& cell, Align align, std::size_t width, std::size_t mark_width) {
  const std::string shown = cell.text + cell.mark;
  const std::size_t hang = mark_width - std::min(mark_width, display_width(cell.mark));
  const std::size_t used = std::min(width, display_width(shown) + (align == Align::right ? hang : 0));
  if (align == Align::right) line.append(width - used, ' ');
  line += shown;
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
    if (columns_[i].align == Align::left) width.mark = 0;
    width.all = std::max(columns_[i].align == Align::left ? both : text + width.mark,
                         std::max(display_width(columns_[i].title), display_width(columns_[i].unit)));
  }
  return widths;
}

std::size_t Grid::width() const {
  std::size_t total = 0;
  for (const Width& width : widths()) total += width.all + gap;
  return total - std::min(total, gap);
}

std::string Grid::text(const char* rule) const {
  const auto width = widths();
  std::string text;
  std::string titles;
  std::string units;
  std::string rules;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    append_cell(titles, {columns_[i].title, {}}, columns_[i].align, width[i].all, 0);
    append_cell(units, {columns_[i].unit, {}}, columns_[i].align, width[i].all, 0);
    for (std::size_t k = 0; k < width[i].all; ++k) rules += rule;
    rules.append(gap, ' ');
  }
  end_line(text, titles);
  const bool has_units =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return !column.unit.empty(); });
  if (has_units) end_line(text, units);
  end_line(text, rules);
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size() && i < columns_.size(); ++i)
      append_cell(line, row[i], columns_[i].align, width[i].all, width[i].mark);
    end_line(text, line);
  }
  return text;
}

}  // namespace gputopo::report
