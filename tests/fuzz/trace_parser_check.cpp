#include "trace_parser_check.hpp"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "change_point/trace_parser.hpp"
#include "evidence/traces/traces.hpp"

namespace gputopo::change_point::testing {
namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

struct Answer {
  std::optional<ParseError> error;
  Trace trace;
  std::vector<StrideSweep> sweeps;
};

Answer parse(std::string_view text, Columns columns, std::size_t piece) {
  TraceParser parser(columns);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    if (parser.feed(text.substr(at, piece))) {
      break;
    }
  }
  Answer answer;
  answer.error = parser.finish();
  if (!answer.error && columns == Columns::stride_and_size) {
    answer.sweeps = parser.take_sweeps();
  } else if (!answer.error) {
    answer.trace = parser.take_trace();
  }
  return answer;
}

void check_error(const ParseError& error) {
  require((error.line >= 1 || error.reason == "there are no rows") && !error.reason.empty() &&
          error.reason.size() < 200);
  for (const char c : error.reason) {
    require(c >= ' ' && c < '\x7f');
  }
}

void check_trace(const Trace& trace) {
  for (const Row& row : trace.rows) {
    require(row.control > 0 && std::isfinite(row.control) && !row.values.empty());
    for (const double value : row.values) {
      require(value >= 0 && std::isfinite(value));
    }
  }
}

void check_estimate(const Estimate& e) {
  const bool is_bound = e.status == Status::lower_bound || e.status == Status::upper_bound;
  require(e.status == Status::measured || e.status == Status::inconclusive || is_bound);
  require(e.has_value() == (e.status != Status::inconclusive));
  require(!e.has_value() || std::isfinite(*e.value));
  require(!e.confidence || (*e.confidence >= 0 && *e.confidence <= 1));
  require(!e.method.empty());
  require(e.status == Status::measured || !e.note.empty());
  require(e.interval.has_value() == (e.status == Status::measured));
  require(!e.interval || (e.interval->low <= *e.value && *e.value <= e.interval->high));
}

}  // namespace

void check_trace_parser(std::string_view input) {
  if (input.empty()) {
    return;
  }
  const auto choice = static_cast<unsigned char>(input.front());
  const auto columns = static_cast<Columns>(choice % 3);
  const std::size_t piece = 1 + choice / 3 % 40;
  const std::string_view text = input.substr(1);
  const Answer whole = parse(text, columns, input.size());
  const Answer pieces = parse(text, columns, piece);
  require(whole.error.has_value() == pieces.error.has_value());
  if (whole.error) {
    check_error(*whole.error);
    require(whole.error->line == pieces.error->line && whole.error->reason == pieces.error->reason);
    return;
  }
  check_trace(whole.trace);
  require(whole.trace.rows.size() == pieces.trace.rows.size() && whole.sweeps.size() == pieces.sweeps.size());
  for (std::size_t i = 0; i < whole.trace.rows.size(); ++i) {
    require(whole.trace.rows[i].control == pieces.trace.rows[i].control);
    require(whole.trace.rows[i].values == pieces.trace.rows[i].values);
  }
  for (const StrideSweep& sweep : whole.sweeps) {
    require(sweep.stride_bytes > 0);
    check_trace(sweep.trace);
  }
  evidence::TraceOptions options;
  switch (columns) {
    case Columns::none:
      return check_estimate(evidence::find_latency(whole.trace));
    case Columns::stride_and_size:
      return check_estimate(evidence::find_line_size(whole.sweeps));
    case Columns::control:
      break;
  }
  check_estimate(evidence::find_size(whole.trace, options));
  options.method = evidence::TraceOptions::Method::thesis;
  check_estimate(evidence::find_size(whole.trace, options));
  check_estimate(evidence::find_fetch_granularity(whole.trace));
}

}  // namespace gputopo::change_point::testing
