#include "report/grid.hpp"

#include <algorithm>

#include "report/text.hpp"

namespace gputopo::report {
namespace {

constexpr std::size_t gap = 2;

void append_cell(std::string& line, const Cell& cell, Align align, std::size_t text_width, std::size_t mark_width) {
  const std::size_t padding = text_width - std::min(text_width, display_width(cell.text));
  if (align == Align::right) line.append(padding, ' ');
  line += cell.text;
  line += cell.mark;
  if (align == Align::left) line.append(padding, ' ');
  line.append(mark_width - std::min(mark_width, display_width(cell.mark)) + gap, ' ');
}

void end_line(std::string& text, std::string line) {
  line.resize(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

}  // namespace

std::vector<Grid::Width> Grid::widths() const {
  std::vector<Width> widths(columns_.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i].text = std::max(widths[i].text, display_width(row[i].text));
      widths[i].mark = std::max(widths[i].mark, display_width(row[i].mark));
    }
  for (std::size_t i = 0; i < widths.size(); ++i)
    widths[i].text = std::max(widths[i].text, display_width(columns_[i].title));
  return widths;
}

std::size_t Grid::width() const {
  std::size_t total = 0;
  for (const Width& width : widths()) total += width.text + width.mark + gap;
  return total - std::min(total, gap);
}

std::string Grid::text(const char* rule) const {
  const auto width = widths();
  std::string text;
  std::string titles;
  std::string rules;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    append_cell(titles, {columns_[i].title, {}}, columns_[i].align, width[i].text, width[i].mark);
    for (std::size_t k = 0; k < width[i].text + width[i].mark; ++k) rules += rule;
    rules.append(gap, ' ');
  }
  end_line(text, titles);
  end_line(text, rules);
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size() && i < columns_.size(); ++i)
      append_cell(line, row[i], columns_[i].align, width[i].text, width[i].mark);
    end_line(text, line);
  }
  return text;
}

}  // namespace gputopo::report
