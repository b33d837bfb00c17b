// Latency traces from text: comma-separated numbers, a row a line.
//
// No I/O here: the caller feeds pieces of the file in order, as large or small as it likes. Memory is bounded by the
// numbers kept, never by the length of a line or of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "change_point/trace.hpp"

namespace gputopo::change_point {

/// What stands before a row's latencies.
enum class Columns {
  none,             ///< latencies alone (one a row, usually)
  control,          ///< the controlled quantity: a size or a stride, bytes
  stride_and_size,  ///< a stride, then a size, bytes
};

/// Where parsing stopped and why; `reason` is one sentence without the line number.
struct ParseError {
  std::uint64_t line = 0;  ///< from 1; 0 where it is the whole that is wrong
  std::string reason;
};

/// Limits against hostile files. What a GPU can produce stays far below them.
struct ParseLimits {
  std::size_t rows = 1000000;
  std::size_t values = 50000000;                   ///< of the whole trace: 400 MB
  std::size_t line_bytes = std::size_t{16} << 20;  ///< one row
  std::size_t field_bytes = 64;                    ///< one number
};

/// Reads lines ended by LF or CR LF; the last one may lack its end. A byte order mark is skipped, blanks around numbers
/// are, and so are a first line of titles and empty lines at the end. Numbers are decimal, with or without fraction and
/// exponent. Controls must be positive whole numbers; latencies must not be negative. An empty row between others, an
/// empty field (one trailing comma is let through), text, NaN, an infinity, a row without latencies and a limit that is
/// exceeded are errors.
class TraceParser {
 public:
  explicit TraceParser(Columns columns, const ParseLimits& limits = {}) : columns_(columns), limits_(limits) {}

  /// Takes the next piece. After an error, further pieces are ignored and the same error comes back.
  std::optional<ParseError> feed(std::string_view piece);
  /// Ends the last line. An input without any row is an error.
  std::optional<ParseError> finish();

  /// The rows so far, in the file's order. Columns::none: control is the row's number from 1. Columns::stride_and_size:
  /// control is the size.
  Trace take_trace();
  /// Columns::stride_and_size: the rows by stride, strides ascending.
  std::vector<StrideSweep> take_sweeps();

 private:
  void end_field(std::string_view field);
  void end_partial(bool ends_line);
  void take_value(double value);
  void end_line();
  void fail(std::string reason);

  Columns columns_;
  ParseLimits limits_;
  std::optional<ParseError> error_;
  std::string partial_;  // a number that a piece's end has cut
  std::uint64_t line_ = 1;
  std::uint64_t first_empty_line_ = 0;  // 0: none since the last row
  std::size_t line_bytes_ = 0;
  std::size_t fields_ = 0;    // of this line
  bool empty_field_ = false;  // this line has one: allowed as its last alone
  bool line_has_comma_ = false;
  bool is_titles_ = false;      // this line, the first
  std::size_t values_ = 0;      // of the whole trace
  double leading_[2] = {0, 0};  // this line's first columns
  Row row_;
  Trace trace_;
  std::vector<double> strides_;  // by row
};

}  // namespace gputopo::change_point
