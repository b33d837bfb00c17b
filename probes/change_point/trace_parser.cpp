#include "change_point/trace_parser.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "change_point/trace_check.hpp"

namespace gputopo::change_point {
namespace {

constexpr std::uint64_t most_empty_lines = 1000;  // at the end of a file
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

// Of a letter or in quotes, as no number is but those that aren't finite.
bool begins_a_title(std::string_view text) {
  double value = 0;
  const bool is_number =
      std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc::invalid_argument;
  const char first = text.front();
  return !is_number && (first == '"' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z'));
}

// As much of a field as fits into a message, with nothing a terminal would act on.
std::string quoted(std::string_view field) {
  constexpr std::size_t longest = 24;
  std::string text = "'";
  for (const char c : field.substr(0, longest)) {
    text += c >= ' ' && c < '\x7f' ? c : '?';
  }
  return text + (field.size() > longest ? "...'" : "'");
}

}  // namespace

void TraceParser::fail(std::string reason) {
  if (!error_) {
    error_ = ParseError{line_, std::move(reason)};
  }
}

void TraceParser::end_field(std::string_view field) {
  const std::string_view text = trimmed(field);
  if (is_titles_) {
    return;
  }
  if (empty_field_) {
    return fail("an empty field between commas");
  }
  if (text.empty()) {
    empty_field_ = true;
    return;
  }
  const bool is_first = line_ == 1 && fields_ == 0 && !line_has_comma_;
  if (is_first && begins_a_title(text)) {
    is_titles_ = true;
    return;
  }
  double value = 0;
  const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
  const auto [end, status] = std::from_chars(begin, text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range) {
    return fail(quoted(text) + " is out of range");
  }
  if (status != std::errc() || end != text.data() + text.size() || (begin != text.data() && *begin == '-')) {
    return fail(quoted(text) + " is not a number");
  }
  take_value(value);
}

void TraceParser::take_value(double value) {
  if (!std::isfinite(value)) {
    return fail("NaN and infinity are no latencies");
  }
  const std::size_t leading = static_cast<std::size_t>(columns_);
  if (fields_ < leading) {
    if (!(value >= smallest_control && value <= largest_control)) {
      return fail("a size or stride must be positive and at most 1e18");
    }
    if (value != std::floor(value)) {
      return fail("a size or stride is no whole number of bytes (is it in KiB?)");
    }
    leading_[fields_] = value;
  } else {
    if (value < 0) {
      return fail("a latency is negative");
    }
    if (value > largest_latency_cycles) {
      return fail("a latency is over 1e12 cycles");
    }
    if (++values_ > limits_.values) {
      return fail("more than " + std::to_string(limits_.values) + " latencies; split the file");
    }
    row_.values.push_back(value);
  }
  ++fields_;
}

void TraceParser::end_line() {
  if (error_) {
    return;
  }
  if (is_titles_) {
    is_titles_ = false;
  } else if (fields_ == 0) {
    if (empty_field_ && line_has_comma_) {
      return fail("a row of commas alone");
    }
    if (first_empty_line_ == 0) {
      first_empty_line_ = line_;
    }
    if (line_ - first_empty_line_ >= most_empty_lines) {
      return fail("more than " + std::to_string(most_empty_lines) + " empty rows");
    }
  } else {
    if (first_empty_line_ != 0) {
      line_ = first_empty_line_;
      return fail("an empty row between others");
    }
    if (row_.values.empty()) {
      return fail("no latencies after the first column" + std::string(columns_ == Columns::control ? "" : "s"));
    }
    if (trace_.rows.size() >= limits_.rows) {
      return fail("more than " + std::to_string(limits_.rows) + " rows; split the file");
    }
    const std::size_t length = row_.values.size();
    switch (columns_) {
      case Columns::none:
        row_.control = static_cast<double>(trace_.rows.size() + 1);
        break;
      case Columns::control:
        row_.control = leading_[0];
        break;
      case Columns::stride_and_size:
        row_.control = leading_[1];
        strides_.push_back(leading_[0]);
        break;
    }
    row_.values.shrink_to_fit();
    trace_.rows.push_back(std::move(row_));
    row_ = Row{};
    row_.values.reserve(length);
  }
  ++line_;
  line_bytes_ = 0;
  fields_ = 0;
  empty_field_ = false;
  line_has_comma_ = false;
}

std::optional<ParseError> TraceParser::feed(std::string_view piece) {
  const char* at = piece.data();
  const char* const end = at + piece.size();
  while (at != end && !error_) {
    // Most fields are whole numbers of a few digits that lie in one piece.
    if (partial_.empty() && !empty_field_ && !is_titles_) {
      std::uint64_t number = 0;
      const char* digit = at;
      while (digit != end && *digit >= '0' && *digit <= '9' && digit - at < 16) {
        number = number * 10 + static_cast<std::uint64_t>(*digit - '0');
        ++digit;
      }
      if (digit != at && digit != end && *digit == ',') {
        take_value(static_cast<double>(number));
        line_bytes_ += static_cast<std::size_t>(digit - at) + 1;
        line_has_comma_ = true;
        at = digit + 1;
        if (line_bytes_ > limits_.line_bytes) {
          fail("a row of more than " + std::to_string(limits_.line_bytes) + " bytes");
        }
        continue;
      }
    }
    const char* stop = std::find_if(at, end, [](char c) { return c == ',' || c == '\n'; });
    const std::size_t length = static_cast<std::size_t>(stop - at);
    line_bytes_ += length + 1;
    if (line_bytes_ > limits_.line_bytes + 1) {
      fail("a row of more than " + std::to_string(limits_.line_bytes) + " bytes");
      break;
    }
    if (partial_.size() + length > limits_.field_bytes) {
      fail("a field of more than " + std::to_string(limits_.field_bytes) + " bytes, which is no number");
      break;
    }
    partial_.append(at, stop);
    at = stop;
    if (at == end) {
      --line_bytes_;
      break;
    }
    end_partial(*at == '\n');
    ++at;
  }
  return error_;
}

void TraceParser::end_partial(bool ends_line) {
  if (ends_line && !partial_.empty() && partial_.back() == '\r') {
    partial_.pop_back();
  }
  if (line_ == 1 && fields_ == 0 && !line_has_comma_ && partial_.starts_with(byte_order_mark)) {
    partial_.erase(0, byte_order_mark.size());
  }
  if (!error_) {
    end_field(partial_);
  }
  partial_.clear();
  if (ends_line) {
    end_line();
  } else {
    line_has_comma_ = true;
  }
}

std::optional<ParseError> TraceParser::finish() {
  if (!error_ && (!partial_.empty() || line_has_comma_)) {
    end_partial(true);
  }
  if (!error_ && trace_.rows.empty()) {
    line_ = 0;
    fail("there are no rows");
  }
  return error_;
}

Trace TraceParser::take_trace() {
  return std::move(trace_);
}

std::vector<StrideSweep> TraceParser::take_sweeps() {
  std::map<double, StrideSweep> by_stride;
  for (std::size_t i = 0; i < trace_.rows.size(); ++i) {
    StrideSweep& sweep = by_stride[strides_[i]];
    sweep.stride_bytes = strides_[i];
    sweep.trace.rows.push_back(std::move(trace_.rows[i]));
  }
  trace_.rows.clear();
  std::vector<StrideSweep> sweeps;
  sweeps.reserve(by_stride.size());
  for (auto& [stride, sweep] : by_stride) {
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

}  // namespace gputopo::change_point
