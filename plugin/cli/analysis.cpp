#include "cli/analysis.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "change_point/fetch_granularity.hpp"
#include "change_point/latency.hpp"
#include "change_point/line_size.hpp"
#include "change_point/trace_parser.hpp"

namespace gputopo::cli {
namespace {

using change_point::Columns;
using change_point::Finding;
using change_point::Verdict;

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : own_(path != "-"), number_(own_ ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : STDIN_FILENO) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (own_ && number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  bool own_;
  int number_;
};

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

tl::unexpected<Error> malformed(const std::string& path, const change_point::ParseError& error, Attribute attribute) {
  const char* wanted = "write rows of 'size,latency,latency,...'";
  if (attribute == Attribute::fetch_granularity) wanted = "write rows of 'stride,latency,latency,...'";
  if (attribute == Attribute::line_size) wanted = "write rows of 'stride,size,latency,latency,...'";
  if (attribute == Attribute::latency) wanted = "write rows of latencies in cycles";
  return fail(Error::Kind::bad_input,
              fmt::format("can't analyze '{}': line {}: {}; {}", path, error.line, error.reason, wanted));
}

Expected<change_point::TraceParser> parse(const std::string& path, Attribute attribute) {
  const Descriptor file(path);
  const auto refused = [&path](int code) {
    return fail(Error::Kind::io, fmt::format("can't read '{}': {}; name a trace that you may read", path,
                                             std::strerror(code)));  // NOLINT(concurrency-mt-unsafe)
  };
  if (file.number() < 0) return refused(errno);
  change_point::TraceParser parser(columns_of(attribute));
  std::vector<char> piece(std::size_t{1} << 20);
  while (true) {
    const ssize_t got = ::read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(errno);
    if (got == 0) break;
    if (const auto error = parser.feed({piece.data(), static_cast<std::size_t>(got)})) {
      return malformed(path, *error, attribute);
    }
  }
  if (const auto error = parser.finish()) return malformed(path, *error, attribute);
  return parser;
}

Finding find(change_point::TraceParser& parser, Attribute attribute, const change_point::Options& options) {
  switch (attribute) {
    case Attribute::latency:
      return change_point::find_latency(parser.take_trace(), options);
    case Attribute::line_size:
      return change_point::find_line_size(parser.take_sweeps(), options);
    case Attribute::fetch_granularity:
      return change_point::find_fetch_granularity(parser.take_trace(), options);
    case Attribute::size:
      break;
  }
  return change_point::find_size(parser.take_trace(), options);
}

Status status_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::value:
      return Status::measured;
    case Verdict::lower_bound:
      return Status::lower_bound;
    case Verdict::upper_bound:
      return Status::upper_bound;
    case Verdict::inconclusive:
      break;
  }
  return Status::inconclusive;
}

}  // namespace

Expected<Estimate> analyze_file(const std::string& path, Attribute attribute, const change_point::Options& options) {
  auto parser = parse(path, attribute);
  if (!parser) return tl::unexpected<Error>(parser.error());
  const Finding finding = find(*parser, attribute, options);
  Estimate estimate;
  estimate.unit = attribute == Attribute::latency ? "cycles" : "B";
  estimate.status = status_of(finding.verdict);
  estimate.method = finding.method;
  estimate.samples = finding.samples;
  estimate.note = finding.reason;
  estimate.confidence = finding.confidence;
  if (finding.verdict != Verdict::inconclusive) {
    estimate.value = finding.value;
    if (finding.verdict == Verdict::value && std::isfinite(finding.low) && std::isfinite(finding.high)) {
      estimate.interval = Interval{finding.low, finding.high};
    }
  }
  return estimate;
}

std::string estimate_as_text(const Estimate& estimate, const std::string& attribute) {
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
  if (estimate.confidence) line("confidence", fmt::format("{:.3f}", *estimate.confidence));
  line("method", estimate.method);
  line("samples", fmt::format("{} loads", estimate.samples));
  if (!estimate.note.empty()) line("note", estimate.note);
  return text;
}

}  // namespace gputopo::cli
