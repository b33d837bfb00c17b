#include "experiments/estimates.hpp"

namespace gputopo::experiments {

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

Estimate inconclusive(std::string_view unit, std::string_view method, std::string_view note) {
  Estimate e;
  e.unit = unit;
  e.status = Status::inconclusive;
  e.method = method;
  e.note = note;
  return e;
}

Estimate to_estimate(const change_point::Finding& finding, std::string_view unit) {
  using change_point::Verdict;
  Estimate e;
  e.unit = unit;
  e.method = finding.method;
  e.samples = finding.samples;
  e.confidence = finding.confidence;
  e.note = finding.reason;
  switch (finding.verdict) {
    case Verdict::value:
      e.status = Status::measured;
      break;
    case Verdict::lower_bound:
      e.status = Status::lower_bound;
      break;
    case Verdict::upper_bound:
      e.status = Status::upper_bound;
      break;
    case Verdict::inconclusive:
      e.status = Status::inconclusive;
      return e;
  }
  e.value = finding.value;
  if (e.status == Status::measured) e.interval = Interval{finding.low, finding.high};
  return e;
}

}  // namespace gputopo::experiments
