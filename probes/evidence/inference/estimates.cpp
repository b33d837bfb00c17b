#include "evidence/inference/estimates.hpp"

#include <algorithm>

namespace gputopo::evidence {

Estimate measured(double value, std::string_view unit, std::string_view method, std::uint64_t samples) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = Status::measured;
  e.method = method;
  e.samples = samples;
  return e;
}

Estimate from_api(double value, std::string_view unit) {
  Estimate e;
  e.value = value;
  e.unit = unit;
  e.status = Status::api;
  e.method = "driver";
  return e;
}

Estimate not_supported(std::string_view unit, std::string_view note) {
  Estimate e;
  e.unit = unit;
  e.status = Status::not_supported;
  e.note = note;
  return e;
}

Estimate inconclusive(std::string_view unit, std::string_view method, std::string_view note, std::uint64_t samples) {
  Estimate e;
  e.unit = unit;
  e.status = Status::inconclusive;
  e.method = method;
  e.samples = samples;
  e.note = note;
  return e;
}

// An interval's end is passed once in forty times, twice as far off once in ten thousand. How probable the value itself
// was says nothing of a bound beside it.
void bound_above(Estimate& estimate, std::string_view why) {
  if (estimate.status != Status::measured) return;
  estimate.status = Status::upper_bound;
  if (estimate.interval) estimate.value = 2 * estimate.interval->high - *estimate.value;
  estimate.interval.reset();
  estimate.confidence.reset();
  estimate.note = why;
}

// The same below. Sizes go by ratios: their intervals may reach over more than half of them.
void bound_below(Estimate& estimate, std::string_view why) {
  if (estimate.status != Status::lower_bound) estimate.confidence.reset();
  estimate.status = Status::lower_bound;
  const double value = estimate.value.value_or(0);
  if (estimate.interval && estimate.unit == "B" && value > 0)
    estimate.value = estimate.interval->low * (estimate.interval->low / value);
  else if (estimate.interval)
    estimate.value = std::max(0.0, 2 * estimate.interval->low - value);
  estimate.interval.reset();
  estimate.note = why;
  if (estimate.value.value_or(0) <= 0) estimate = inconclusive(estimate.unit, estimate.method, why, estimate.samples);
}

namespace {

constexpr std::pair<const char*, const char*> cache_attributes[] = {
    {"size", "B"}, {"line_size", "B"}, {"sector_size", "B"}, {"latency", "cycles"}, {"miss_penalty", "cycles"}};

}  // namespace

void set_absent(Memory& memory, std::string_view why) {
  for (const auto& [name, unit] : cache_attributes) memory.attributes[name] = not_supported(unit, why);
}

void set_open(Memory& memory, std::string_view method, std::string_view why) {
  for (const auto& [name, unit] : cache_attributes)
    if (!memory.attributes.contains(name)) memory.attributes[name] = inconclusive(unit, method, why);
}

}  // namespace gputopo::evidence
