#include "comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace gputopo::test {
namespace {

constexpr double latency_tolerance_cycles = 1.5;
constexpr double latency_tolerance = 0.03;
// The sets of a hashed cache fill unevenly, and the first of them to overflow ends what fits.
constexpr double l2_size_tolerance = 0.06;
constexpr double odd_l2_size_tolerance = 0.1;

std::string text_of(const Estimate* e) {
  if (e == nullptr) return "nothing";
  const std::string value = e->value ? fmt::format("{:g} {}", *e->value, e->unit) : std::string("no value");
  return fmt::format("{} ({}, {}{}{})", value, to_string(e->status), e->method, e->note.empty() ? "" : ": ", e->note);
}

class Comparison {
 public:
  Comparison(const Memory& found, const Memory& truth, Exactness exactness)
      : found_(found), truth_(truth), exactness_(exactness) {}

  std::vector<Difference> run() {
    for (const auto& [name, estimate] : truth_.attributes) compare(name, estimate);
    const Estimate* size = truth_.find("size");
    const bool is_l2 = truth_.id == "l2" && size != nullptr && size->value.has_value();
    if (is_l2) compare_measured_l2_size(*size->value);
    if (size != nullptr && size->value && found_.physical_cache != truth_.physical_cache)
      add(Difference::Kind::wrong, "physical_cache",
          fmt::format("'{}' instead of '{}'", found_.physical_cache, truth_.physical_cache));
    return std::move(differences_);
  }

 private:
  void add(Difference::Kind kind, const std::string& attribute, std::string what) {
    differences_.push_back({kind, truth_.id, attribute, std::move(what)});
  }

  void compare(const std::string& name, const Estimate& truth) {
    const Estimate* found = found_.find(name);
    const std::string what =
        fmt::format("{} instead of {}", text_of(found),
                    truth.value ? fmt::format("{:g} {}", *truth.value, truth.unit) : std::string("not_supported"));
    if (found == nullptr) return add(Difference::Kind::undecided, name, what);
    if (found->unit != truth.unit) return add(Difference::Kind::wrong, name, what + ", another unit");
    const bool absent = found->status == Status::not_supported;
    if (!truth.value) {
      if (!absent) add(found->value ? Difference::Kind::wrong : Difference::Kind::undecided, name, what);
      return;
    }
    if (absent) return add(Difference::Kind::wrong, name, what);
    if (!found->value) return add(Difference::Kind::undecided, name, what);
    switch (found->status) {
      case Status::measured:
      case Status::api:
        if (!agrees(name, *found, truth)) add(Difference::Kind::wrong, name, what);
        return;
      case Status::lower_bound:
        if (*found->value > *truth.value + slack_bytes()) return add(Difference::Kind::wrong, name, what);
        if (!may_be_bounded(name, *truth.value)) add(Difference::Kind::undecided, name, what);
        return;
      default:
        add(Difference::Kind::undecided, name, what);
    }
  }

  bool agrees(const std::string& name, const Estimate& found, const Estimate& truth) const {
    if (name == "partition_size") return agrees_as_swept(found, *truth.value);
    const double difference = std::fabs(*found.value - *truth.value);
    if (truth.unit == "cycles")
      return difference <= std::max(latency_tolerance_cycles, latency_tolerance * *truth.value);
    return difference == 0 || (name == "size" && exactness_ == Exactness::to_the_line && nearly(found, *truth.value));
  }

  double slack_bytes() const {
    const Estimate* line = truth_.find("line_size");
    return exactness_ == Exactness::to_the_line && line != nullptr ? line->value.value_or(0) : 0;
  }

  bool nearly(const Estimate& found, double truth) const {
    constexpr double narrow = 0.05;
    const auto& interval = found.interval;
    const bool inside = interval && interval->low <= truth && truth <= interval->high;
    return std::fabs(*found.value - truth) <= slack_bytes() ||
           (inside && interval->high - interval->low <= narrow * truth);
  }

  // The sweep over the L2 has coarse steps.
  bool agrees_as_swept(const Estimate& found, double truth) const {
    const bool inside = found.interval && found.interval->low <= truth && truth <= found.interval->high;
    return inside || within(*found.value, truth,
                            exactness_ == Exactness::to_the_byte ? l2_size_tolerance : odd_l2_size_tolerance);
  }

  // One module's constants reach 64 KiB: a cache that holds that much, or all but what the kernel's own constants and
  // code take, never overflows for sure.
  bool may_be_bounded(const std::string& name, double truth) const {
    return truth_.id == "constant_l1_5" && name == "size" && truth >= (64 << 10) - (2 << 10);
  }

  void compare_measured_l2_size(double truth) {
    const Estimate* measured = found_.find("measured_size");
    const std::string what = fmt::format("{} instead of {:g} B", text_of(measured), truth);
    if (measured == nullptr || !measured->value || measured->status != Status::measured)
      return add(Difference::Kind::undecided, "measured_size", what);
    if (!agrees_as_swept(*measured, truth)) add(Difference::Kind::wrong, "measured_size", what);
  }

  const Memory& found_;
  const Memory& truth_;
  Exactness exactness_;
  std::vector<Difference> differences_;
};

}  // namespace

bool within(double found, double truth, double relative) {
  return std::fabs(found - truth) <= relative * truth;
}

std::vector<Difference> differences(const Topology& found, const Topology& truth, Exactness exactness) {
  std::vector<Difference> all;
  for (const Memory& expected : truth.memories) {
    const Memory* memory = found.find(expected.id);
    if (memory == nullptr) {
      all.push_back({Difference::Kind::wrong, expected.id, "", "the memory is missing"});
      continue;
    }
    auto some = Comparison(*memory, expected, exactness).run();
    all.insert(all.end(), some.begin(), some.end());
  }
  if (found.memories.size() != truth.memories.size())
    all.push_back({Difference::Kind::wrong, "", "",
                   fmt::format("{} memories instead of {}", found.memories.size(), truth.memories.size())});
  return all;
}

std::string describe(const std::vector<Difference>& differences) {
  std::string text;
  for (const Difference& d : differences)
    text += fmt::format("{} {}.{}: {}\n", d.kind == Difference::Kind::wrong ? "WRONG" : "undecided", d.memory,
                        d.attribute, d.text);
  return text;
}

}  // namespace gputopo::test
