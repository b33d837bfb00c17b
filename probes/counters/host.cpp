#include "counters/host.hpp"

#include <fmt/format.h>

namespace gputopo::counters {
namespace {

CUptiResult add_metrics(const Cupti& cupti, CUpti_Profiler_Host_Object* host, std::vector<const char*> names) {
  auto add =
      sized<CUpti_Profiler_Host_ConfigAddMetrics_Params>(CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
  add.pHostObject = host;
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  return cupti.cuptiProfilerHostConfigAddMetrics(&add);
}

bool is_unknown_metric(CUptiResult code) {
  return code == CUPTI_ERROR_INVALID_PARAMETER || code == CUPTI_ERROR_INVALID_METRIC_NAME;
}

CUptiResult begin_host(const Cupti& cupti, const std::string& chip, const std::vector<std::uint8_t>& availability,
                       CUpti_Profiler_Host_Object*& host) {
  auto begin = sized<CUpti_Profiler_Host_Initialize_Params>(CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
  begin.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  begin.pChipName = chip.c_str();
  begin.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
  const CUptiResult code = cupti.cuptiProfilerHostInitialize(&begin);
  host = code == CUPTI_SUCCESS ? begin.pHostObject : nullptr;
  return code;
}

void end_host(const Cupti& cupti, CUpti_Profiler_Host_Object* host) {
  if (host == nullptr) return;
  auto end = sized<CUpti_Profiler_Host_Deinitialize_Params>(CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
  end.pHostObject = host;
  cupti.cuptiProfilerHostDeinitialize(&end);
}

// Each metric is tried by itself: a host object that has refused one doesn't name it.
std::vector<std::string> missing_ones(const Cupti& cupti, const std::string& chip,
                                      const std::vector<std::uint8_t>& availability,
                                      const std::vector<const char*>& names) {
  std::vector<std::string> refused;
  for (const char* name : names) {
    CUpti_Profiler_Host_Object* host = nullptr;
    if (begin_host(cupti, chip, availability, host) != CUPTI_SUCCESS) break;
    if (is_unknown_metric(add_metrics(cupti, host, {name}))) refused.emplace_back(name);
    end_host(cupti, host);
  }
  return refused;
}

}  // namespace

Expected<std::unique_ptr<Schedule>> Schedule::make(const Cupti& cupti, const std::string& chip,
                                                   const std::vector<std::uint8_t>& availability,
                                                   const Metrics& metrics) {
  std::unique_ptr<Schedule> s(new Schedule(cupti, metrics));
  for (const std::string& metric : s->metrics_) s->names_.push_back(metric.c_str());
  const CUptiResult begun = begin_host(cupti, chip, availability, s->host_);
  if (auto ok = cupti.check(begun, fmt::format("can't count on a {}", chip)); !ok)
    return tl::unexpected<Error>(ok.error());
  // All in one call: metrics that are added one by one get a pass each, though the hardware counts them together.
  const CUptiResult code = add_metrics(cupti, s->host_, s->names_);
  if (is_unknown_metric(code))
    return fail(Error::Kind::unavailable,
                fmt::format("a {} has no counter '{}', or not on this machine; leave out "
                            "what it stands for",
                            chip, fmt::join(missing_ones(cupti, chip, availability, s->names_), "', '")));
  if (auto ok = cupti.check(code, fmt::format("can't count {} on a {}", fmt::join(metrics, ", "), chip)); !ok)
    return tl::unexpected<Error>(ok.error());
  const std::string what = fmt::format("can't schedule counters of a {}", chip);
  auto size =
      sized<CUpti_Profiler_Host_GetConfigImageSize_Params>(CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
  size.pHostObject = s->host_;
  if (auto ok = cupti.check(cupti.cuptiProfilerHostGetConfigImageSize(&size), what); !ok)
    return tl::unexpected<Error>(ok.error());
  s->config_.resize(size.configImageSize);
  auto image = sized<CUpti_Profiler_Host_GetConfigImage_Params>(CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
  image.pHostObject = s->host_;
  image.configImageSize = s->config_.size();
  image.pConfigImage = s->config_.data();
  if (auto ok = cupti.check(cupti.cuptiProfilerHostGetConfigImage(&image), what); !ok)
    return tl::unexpected<Error>(ok.error());
  auto passes = sized<CUpti_Profiler_Host_GetNumOfPasses_Params>(CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
  passes.configImageSize = s->config_.size();
  passes.pConfigImage = s->config_.data();
  if (auto ok = cupti.check(cupti.cuptiProfilerHostGetNumOfPasses(&passes), what); !ok)
    return tl::unexpected<Error>(ok.error());
  s->passes_ = passes.numOfPasses;
  return s;
}

Schedule::~Schedule() {
  end_host(cupti_, host_);
}

Expected<Values> Schedule::evaluate(const std::vector<std::uint8_t>& image, std::size_t range) const {
  Values values(metrics_.size());
  std::vector<const char*> names = names_;
  auto p =
      sized<CUpti_Profiler_Host_EvaluateToGpuValues_Params>(CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
  p.pHostObject = host_;
  p.pCounterDataImage = image.data();
  p.counterDataImageSize = image.size();
  p.ppMetricNames = names.data();
  p.numMetrics = names.size();
  p.rangeIndex = range;
  p.pMetricValues = values.data();
  if (auto ok = cupti_.check(cupti_.cuptiProfilerHostEvaluateToGpuValues(&p), "can't read counters"); !ok)
    return tl::unexpected<Error>(ok.error());
  return values;
}

Expected<std::vector<std::string>> supported_chips(const Cupti& cupti) {
  auto p =
      sized<CUpti_Profiler_Host_GetSupportedChips_Params>(CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE);
  if (auto ok = cupti.check(cupti.cuptiProfilerHostGetSupportedChips(&p), "can't ask CUPTI for its chips"); !ok)
    return tl::unexpected<Error>(ok.error());
  return std::vector<std::string>(p.ppChipNames, p.ppChipNames + p.numChips);
}

}  // namespace gputopo::counters
