#include "comparison.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/text.hpp"
#include "structure.hpp"

namespace gputopo::test {
namespace {

constexpr double latency_tolerance_cycles = 1.5;
constexpr double latency_tolerance = 0.03;
constexpr double exact_cycles = 0.05;
// The sets of a hashed cache fill unevenly, and the first of them to overflow ends what fits.
constexpr double l2_size_tolerance = 0.06;
constexpr double odd_l2_size_tolerance = 0.1;

std::string text_of(const Estimate& e) {
  if (!e.value) return e.status == Status::not_supported ? "none" : "unknown";
  std::string text = report::quantity_text(*e.value, e.unit);
  if (e.status == Status::lower_bound) text = "at least " + text;
  if (e.status == Status::upper_bound) text = "at most " + text;
  const auto& i = e.interval;
  if (!i || (i->low == *e.value && i->high == *e.value)) return text;
  return fmt::format("{} [{}, {}]", text, report::number_text(i->low), report::number_text(i->high));
}

std::string origin_of(const Estimate& e) {
  return fmt::format("{}{}{}{}{}", to_string(e.status), e.method.empty() ? "" : ", ", e.method,
                     e.note.empty() ? "" : ": ", e.note);
}

class Comparison {
 public:
  Comparison(const Memory& found, const Memory& truth, Exactness exactness)
      : found_(found), truth_(truth), exactness_(exactness) {
    none_.status = Status::not_supported;
  }

  std::vector<Statement> run() {
    for (const auto& [name, estimate] : truth_.attributes) compare(name, estimate);
    for (const char* name : {"partitions", "partition_size", "far_latency"})
      if (const Estimate* invented = found_.find(name); invented != nullptr && truth_.find(name) == nullptr)
        add(name, none_, invented, invented->value ? Verdict::wrong : Verdict::inconclusive);
    const Estimate* size = truth_.find("size");
    if (truth_.id == "l2" && size != nullptr && size->value) compare_measured_l2_size(*size);
    return std::move(statements_);
  }

 private:
  void add(std::string_view name, const Estimate& truth, const Estimate* found, Verdict verdict,
           bool decidable = true) {
    Estimate plain = truth;  // the ends of its interval are for judging alone
    plain.interval.reset();
    Statement s{truth_.id, std::string(name), text_of(plain), "nothing", verdict, decidable, ""};
    if (found != nullptr) {
      s.found = text_of(*found);
      s.how = origin_of(*found);
      s.confidence = found->confidence;
      const bool has_interval = found->status == Status::measured && found->value && found->interval;
      if (has_interval && truth.value) s.in_interval = in_interval(*found, *truth.value);
    }
    statements_.push_back(std::move(s));
  }

  void compare(const std::string& name, const Estimate& truth) {
    const Estimate* found = found_.find(name);
    const auto say = [&](Verdict verdict, bool decidable = true) { add(name, truth, found, verdict, decidable); };
    if (found == nullptr) return say(Verdict::inconclusive);
    if (found->unit != truth.unit) return say(Verdict::wrong);
    const bool absent = found->status == Status::not_supported;
    if (!truth.value) {
      if (absent) return say(Verdict::exact);
      return say(found->value ? Verdict::wrong : Verdict::inconclusive);
    }
    if (absent) return say(Verdict::wrong);
    if (!found->value) return say(Verdict::inconclusive);
    switch (found->status) {
      case Status::measured:
      case Status::api:
        return say(judge(name, *found, truth));
      case Status::lower_bound:
        if (*found->value > values_of(truth).high) return say(Verdict::wrong);
        return say(Verdict::bound_holds, !may_be_bounded(name, *truth.value));
      case Status::upper_bound:
        if (*found->value < values_of(truth).low) return say(Verdict::wrong);
        return say(Verdict::bound_holds, !may_be_bounded_above(name));
      default:
        return say(Verdict::inconclusive);
    }
  }

  Verdict judge(const std::string& name, const Estimate& found, const Estimate& truth) const {
    if (name == "partition_size") return judge_as_swept(found, *truth.value);
    const double difference = std::fabs(*found.value - *truth.value);
    if (truth.unit == "cycles") {
      if (difference <= exact_cycles) return Verdict::exact;
      const double tolerance = std::max(latency_tolerance_cycles, latency_tolerance * *truth.value);
      const bool close = difference <= tolerance || is_one_of_several(*found.value, truth, tolerance);
      return !close                             ? Verdict::wrong
             : in_interval(found, *truth.value) ? Verdict::within_interval
                                                : Verdict::within_tolerance;
    }
    if (difference == 0) return Verdict::exact;
    if (name != "size" || exactness_ == Exactness::to_the_byte) return Verdict::wrong;
    constexpr double narrow = 0.05;
    if (in_interval(found, *truth.value) && found.interval->high - found.interval->low <= narrow * *truth.value)
      return Verdict::within_interval;
    return difference <= slack_bytes() ? Verdict::within_tolerance : Verdict::wrong;
  }

  // Lines at different distances have different latencies, and so have pages that a TLB knows and others, and levels
  // behind the SM at a slower clock of that.
  Interval values_of(const Estimate& truth) const {
    const bool several = exactness_ == Exactness::to_the_line && truth.unit == "cycles" && truth.interval;
    return several ? *truth.interval : Interval{*truth.value, *truth.value};
  }

  bool is_one_of_several(double value, const Estimate& truth, double tolerance) const {
    const Interval values = values_of(truth);
    return values.low - tolerance <= value && value <= values.high + tolerance;
  }

  static bool in_interval(const Estimate& found, double truth) {
    return found.interval && found.interval->low <= truth && truth <= found.interval->high;
  }

  double slack_bytes() const {
    const Estimate* line = truth_.find("line_size");
    return exactness_ == Exactness::to_the_line && line != nullptr ? line->value.value_or(0) : 0;
  }

  // The sweep over the L2 has coarse steps.
  Verdict judge_as_swept(const Estimate& found, double truth) const {
    if (*found.value == truth) return Verdict::exact;
    if (in_interval(found, truth)) return Verdict::within_interval;
    const double tolerance = exactness_ == Exactness::to_the_byte ? l2_size_tolerance : odd_l2_size_tolerance;
    return within(*found.value, truth, tolerance) ? Verdict::within_tolerance : Verdict::wrong;
  }

  // The constant L1's misses ask for a sector of its own at least.
  bool may_be_bounded_above(const std::string& name) const {
    return truth_.id == "constant_l1_5" && name == "sector_size";
  }

  // One module's constants reach 64 KiB: a cache that holds that much, or all but what the kernel's own constants and
  // code take, never overflows for sure.
  bool may_be_bounded(const std::string& name, double truth) const {
    return truth_.id == "constant_l1_5" && name == "size" && truth >= (64 << 10) - (2 << 10);
  }

  void compare_measured_l2_size(const Estimate& truth) {
    const Estimate* measured = found_.find("measured_size");
    const bool has_value = measured != nullptr && measured->value;
    const bool is_above = has_value && measured->status == Status::lower_bound && *measured->value > *truth.value;
    const bool is_below = has_value && measured->status == Status::upper_bound && *measured->value < *truth.value;
    const bool is_measured = has_value && measured->status == Status::measured;
    add("measured_size", truth, measured,
        is_above || is_below ? Verdict::wrong
        : is_measured        ? judge_as_swept(*measured, *truth.value)
                             : Verdict::inconclusive);
  }

  const Memory& found_;
  const Memory& truth_;
  Exactness exactness_;
  Estimate none_;
  std::vector<Statement> statements_;
};

void append(std::vector<Statement>& all, std::vector<Statement> some) {
  all.insert(all.end(), some.begin(), some.end());
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::exact:
      return "exact";
    case Verdict::within_interval:
      return "within interval";
    case Verdict::within_tolerance:
      return "within tolerance";
    case Verdict::bound_holds:
      return "bound holds";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::wrong:
      return "wrong";
  }
  return "wrong";
}

bool within(double found, double truth, double relative) {
  return std::fabs(found - truth) <= relative * truth;
}

std::vector<Statement> statements(const Topology& found, const Topology& truth, Exactness exactness) {
  std::vector<Statement> all;
  for (const Memory& expected : truth.memories) {
    const Memory* memory = found.find(expected.id);
    if (memory == nullptr) {
      all.push_back({expected.id, "memory", "listed", "missing", Verdict::wrong, true, ""});
      continue;
    }
    append(all, Comparison(*memory, expected, exactness).run());
    append(all, structure_statements(*memory, expected, truth.gpu.sm_count));
  }
  for (const Memory& memory : found.memories)
    if (truth.find(memory.id) == nullptr)
      all.push_back({memory.id, "memory", "none", "listed", Verdict::wrong, true, ""});
  append(all, place_statements(found, truth));
  return all;
}

bool is_wrong(const Statement& s) {
  return s.verdict == Verdict::wrong;
}

bool is_undecided(const Statement& s) {
  return s.decidable && (s.verdict == Verdict::inconclusive || s.verdict == Verdict::bound_holds);
}

std::string complaints(const std::vector<Statement>& statements) {
  std::string text;
  for (const Statement& s : statements)
    if (is_wrong(s) || is_undecided(s))
      text += fmt::format("{} {}.{}: {} instead of {} ({})\n", is_wrong(s) ? "WRONG" : "undecided", s.memory,
                          s.attribute, s.found, s.truth, s.how);
  return text;
}

}  // namespace gputopo::test
