#include "cli/analysis.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "change_point/trace_content.hpp"
#include "change_point/trace_parser.hpp"
#include "files/files.hpp"

namespace gputopo::cli {
namespace {

using change_point::Columns;

Columns columns_of(Attribute attribute) {
  switch (attribute) {
    case Attribute::latency:
      return Columns::none;
    case Attribute::line_size:
      return Columns::stride_and_size;
    case Attribute::size:
    case Attribute::fetch_granularity:
      break;
  }
  return Columns::control;
}

// What no sweep of a GPU comes near to, and what is answered within seconds and 256 MiB. Latencies are sorted; the
// others' time goes with rows times groups of strides, rows times rows of sizes that rise steadily, and strides times
// strides.
change_point::ParseLimits limits_of(Attribute attribute) {
  change_point::ParseLimits limits;
  limits.values = 8'000'000;
  limits.rows = attribute == Attribute::latency ? 1'000'000 : attribute == Attribute::size ? 16'384 : 65'536;
  return limits;
}

tl::unexpected<Error> malformed(const std::string& path, const change_point::ParseError& error, Attribute attribute) {
  const char* wanted = "write rows of 'size,latency,latency,...'";
  if (attribute == Attribute::fetch_granularity) wanted = "write rows of 'stride,latency,latency,...'";
  if (attribute == Attribute::line_size) wanted = "write rows of 'stride,size,latency,latency,...'";
  if (attribute == Attribute::latency) wanted = "write rows of latencies in cycles";
  const std::string where = error.line == 0 ? "" : fmt::format("line {}: ", error.line);
  return fail(Error::Kind::bad_input, fmt::format("can't analyze '{}': {}{}; {}", path, where, error.reason, wanted));
}

Expected<change_point::TraceParser> parse(const std::string& path, Attribute attribute) {
  const bool is_stdin = path == "-";
  const auto file = is_stdin ? Expected<files::Descriptor>() : files::open_for_reading(path);
  if (!file) return tl::unexpected<Error>(file.error());
  change_point::TraceParser parser(columns_of(attribute), limits_of(attribute));
  const auto read = files::read_pieces(is_stdin ? STDIN_FILENO : file->get(), is_stdin ? "standard input" : path,
                                       [&](std::string_view piece) -> Expected<void> {
                                         if (const auto error = parser.feed(piece))
                                           return malformed(path, *error, attribute);
                                         return {};
                                       });
  if (!read) return tl::unexpected<Error>(read.error());
  if (const auto error = parser.finish()) return malformed(path, *error, attribute);
  return parser;
}

// A size is the largest row that fits, and its interval is of rows: the capacity may lie up to the one behind.
std::optional<double> next_row(const change_point::Trace& trace, const Estimate& size) {
  if (size.status != Status::measured || !size.interval) return std::nullopt;
  std::optional<double> next;
  for (const change_point::Row& row : trace.rows)
    if (row.control > size.interval->high && (!next || row.control < *next)) next = row.control;
  return next;
}

tl::unexpected<Error> no_latencies(const std::string& path, const std::string& reason) {
  return fail(Error::Kind::bad_input, fmt::format("can't analyze '{}': {}", path, reason));
}

Expected<Analysis> find_line_size(const std::string& path, change_point::TraceParser& parser) {
  constexpr std::size_t most_strides = 256;
  const auto sweeps = parser.take_sweeps();
  if (sweeps.size() > most_strides)
    return fail(Error::Kind::bad_input, fmt::format("can't analyze {} strides, at most {}; leave some of them out",
                                                    sweeps.size(), most_strides));
  for (const change_point::StrideSweep& sweep : sweeps)
    if (const auto reason = why_no_latencies(sweep.trace.rows); !reason.empty()) return no_latencies(path, reason);
  return Analysis{evidence::find_line_size(sweeps), {}};
}

Expected<Analysis> find(const std::string& path, change_point::TraceParser& parser, Attribute attribute,
                        const evidence::TraceOptions& options) {
  if (attribute == Attribute::line_size) return find_line_size(path, parser);
  const change_point::Trace trace = parser.take_trace();
  const bool are_alone = attribute == Attribute::latency;
  const auto reason = are_alone ? why_no_latencies_alone(trace.rows) : why_no_latencies(trace.rows);
  if (!reason.empty()) return no_latencies(path, reason);
  if (are_alone) return Analysis{evidence::find_latency(trace), {}};
  if (attribute == Attribute::fetch_granularity) return Analysis{evidence::find_fetch_granularity(trace), {}};
  Estimate size = evidence::find_size(trace, options);
  const auto next = next_row(trace, size);
  return Analysis{std::move(size), next};
}

}  // namespace

Expected<Analysis> analyze_file(const std::string& path, Attribute attribute, const evidence::TraceOptions& options) {
  auto parser = parse(path, attribute);
  if (!parser) return tl::unexpected<Error>(parser.error());
  return find(path, *parser, attribute, options);
}

std::string analysis_as_text(const Analysis& analysis, const std::string& attribute) {
  const Estimate& estimate = analysis.estimate;
  std::string text;
  const auto line = [&text](std::string_view name, const std::string& content) {
    text += fmt::format("{:<11} {}\n", name, content);
  };
  const auto amount = [&estimate](double value) { return fmt::format("{:.15g} {}", value, estimate.unit); };
  std::string value = "inconclusive";
  if (estimate.value) {
    value = amount(*estimate.value);
    if (estimate.status == Status::lower_bound) value = "at least " + value;
    if (estimate.status == Status::upper_bound) value = "at most " + value;
  }
  line(attribute, value);
  if (estimate.interval) {
    line("interval", fmt::format("{} to {} (95 %)", amount(estimate.interval->low), amount(estimate.interval->high)));
  }
  if (analysis.next_row) line("next row", amount(*analysis.next_row) + ", which no longer fits");
  if (estimate.confidence) line("confidence", fmt::format("{:.3f}", *estimate.confidence));
  line("method", estimate.method);
  line("samples", fmt::format("{} load{}", estimate.samples, estimate.samples == 1 ? "" : "s"));
  if (!estimate.note.empty()) line("note", estimate.note);
  return text;
}

}  // namespace gputopo::cli
