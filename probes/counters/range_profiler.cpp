#include "counters/range_profiler.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace gputopo::counters {

Expected<std::unique_ptr<RangeProfiler>> RangeProfiler::make(Cupti cupti, CUcontext context, int ordinal) {
  std::unique_ptr<RangeProfiler> profiler(new RangeProfiler(std::move(cupti), context));
  if (auto ok = profiler->open(ordinal); !ok) return tl::unexpected<Error>(ok.error());
  return profiler;
}

RangeProfiler::~RangeProfiler() {
  if (counting_ != nullptr) {
    auto stop = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
    stop.pRangeProfilerObject = profiler_;
    cupti_.cuptiRangeProfilerStop(&stop);
  }
  disable();
  schedules_.clear();
  if (initialized_) {
    auto end = sized<CUpti_Profiler_DeInitialize_Params>(CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE);
    cupti_.cuptiProfilerDeInitialize(&end);
  }
}

Expected<void> RangeProfiler::check_support(int ordinal) const {
  auto p = sized<CUpti_Profiler_DeviceSupported_Params>(CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE);
  p.cuDevice = ordinal;
  p.api = CUPTI_PROFILER_RANGE_PROFILING;
  if (auto ok = cupti_.check(cupti_.cuptiProfilerDeviceSupported(&p), "can't ask CUPTI about this GPU"); !ok) return ok;
  if (p.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return {};
  const auto bad = [](CUpti_Profiler_Support_Level level) {
    return level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || level == CUPTI_PROFILER_CONFIGURATION_DISABLED;
  };
  CUptiResult why = CUPTI_ERROR_NOT_SUPPORTED;
  if (p.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED) why = CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
  if (p.vGpu == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED) why = CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED;
  if (bad(p.confidentialCompute)) why = CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED;
  if (bad(p.cmp)) why = CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED;
  if (bad(p.sli)) why = CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED;
  if (bad(p.wsl)) why = CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED;
  return cupti_.check(why, "this GPU's counters can't be read");
}

// Also what shows whether this process may count at all.
Expected<void> RangeProfiler::read_availability() {
  const std::string what = "this GPU's counters can't be read";
  auto p =
      sized<CUpti_Profiler_GetCounterAvailability_Params>(CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
  p.ctx = context_;
  if (auto ok = cupti_.check(cupti_.cuptiProfilerGetCounterAvailability(&p), what); !ok) return ok;
  availability_.resize(p.counterAvailabilityImageSize);
  p.pCounterAvailabilityImage = availability_.data();
  return cupti_.check(cupti_.cuptiProfilerGetCounterAvailability(&p), what);
}

Expected<void> RangeProfiler::open(int ordinal) {
  auto begin = sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  if (auto ok = cupti_.check(cupti_.cuptiProfilerInitialize(&begin), "CUPTI doesn't start"); !ok) return ok;
  initialized_ = true;
  if (auto ok = check_support(ordinal); !ok) return ok;
  auto name = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  name.deviceIndex = static_cast<std::size_t>(ordinal);
  if (auto ok = cupti_.check(cupti_.cuptiDeviceGetChipName(&name), "can't ask CUPTI for this GPU's chip"); !ok)
    return ok;
  chip_ = name.pChipName;
  if (auto ok = read_availability(); !ok) return ok;
  return enable();
}

Expected<void> RangeProfiler::enable() {
  auto p = sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
  p.ctx = context_;
  if (auto ok = cupti_.check(cupti_.cuptiRangeProfilerEnable(&p), "this GPU's counters can't be used"); !ok) return ok;
  profiler_ = p.pRangeProfilerObject;
  return {};
}

void RangeProfiler::disable() {
  if (profiler_ == nullptr) return;
  auto p = sized<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
  p.pRangeProfilerObject = profiler_;
  cupti_.cuptiRangeProfilerDisable(&p);
  profiler_ = nullptr;
  enabled_for_ = nullptr;
}

// Once enabled, the profiler decodes the first metrics it was set up for; any others read as no number.
Expected<void> RangeProfiler::enable_for(const Schedule& schedule) {
  if (enabled_for_ != nullptr && enabled_for_ != &schedule) {
    disable();
    if (auto ok = enable(); !ok) return ok;
  }
  enabled_for_ = &schedule;
  return {};
}

Expected<Schedule*> RangeProfiler::schedule(const Metrics& metrics) {
  auto& known = schedules_[metrics];
  if (known == nullptr) {
    auto made = Schedule::make(cupti_, chip_, availability_, metrics);
    if (!made) return tl::unexpected<Error>(made.error());
    known = std::move(*made);
  }
  return known.get();
}

Expected<std::size_t> RangeProfiler::passes(const Metrics& metrics) {
  auto planned = schedule(metrics);
  if (!planned) return tl::unexpected<Error>(planned.error());
  return (*planned)->passes();
}

Expected<void> RangeProfiler::prepare_image(const Schedule& schedule, std::size_t stretches) {
  const std::string what = "can't prepare for counting";
  std::vector<const char*> names = schedule.names();
  auto size =
      sized<CUpti_RangeProfiler_GetCounterDataSize_Params>(CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  size.pRangeProfilerObject = profiler_;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = stretches;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(stretches);
  if (auto ok = cupti_.check(cupti_.cuptiRangeProfilerGetCounterDataSize(&size), what); !ok) return ok;
  image_.assign(size.counterDataSize, 0);
  auto clear = sized<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
      CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  clear.pRangeProfilerObject = profiler_;
  clear.counterDataSize = image_.size();
  clear.pCounterData = image_.data();
  return cupti_.check(cupti_.cuptiRangeProfilerCounterDataImageInitialize(&clear), what);
}

Expected<void> RangeProfiler::begin_stretch() {
  auto push = sized<CUpti_RangeProfiler_PushRange_Params>(CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
  push.pRangeProfilerObject = profiler_;
  // Ranges of one name would be one range.
  push.pRangeName = stretch_names_.emplace_back(fmt::format("{}", stretch_names_.size())).c_str();
  return cupti_.check(cupti_.cuptiRangeProfilerPushRange(&push), "counting a stretch doesn't begin");
}

Expected<void> RangeProfiler::end_stretch() {
  auto pop = sized<CUpti_RangeProfiler_PopRange_Params>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
  pop.pRangeProfilerObject = profiler_;
  return cupti_.check(cupti_.cuptiRangeProfilerPopRange(&pop), "counting a stretch doesn't end");
}

Expected<void> RangeProfiler::start(const Metrics& metrics, std::size_t stretches) {
  if (counting_ != nullptr) return fail(Error::Kind::bad_input, "counting has begun already; stop it first");
  auto planned = schedule(metrics);
  if (!planned) return tl::unexpected<Error>(planned.error());
  if ((*planned)->passes() != 1)
    return fail(Error::Kind::bad_input, fmt::format("{} and {} more take {} passes on a {}; ask for fewer at once",
                                                    metrics.front(), metrics.size() - 1, (*planned)->passes(), chip_));
  if (auto ok = enable_for(**planned); !ok) return ok;
  if (auto ok = prepare_image(**planned, stretches); !ok) return ok;
  const std::vector<std::uint8_t>& config = (*planned)->config();
  auto set = sized<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
  set.pRangeProfilerObject = profiler_;
  set.configSize = config.size();
  set.pConfig = config.data();
  set.counterDataImageSize = image_.size();
  set.pCounterDataImage = image_.data();
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;  // of a single pass: nothing is replayed
  set.maxRangesPerPass = stretches;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  if (auto ok = cupti_.check(cupti_.cuptiRangeProfilerSetConfig(&set), "can't prepare for counting"); !ok) return ok;
  auto begin = sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  begin.pRangeProfilerObject = profiler_;
  if (auto ok = cupti_.check(cupti_.cuptiRangeProfilerStart(&begin), "counting doesn't start"); !ok) return ok;
  counting_ = *planned;
  stretch_names_.clear();
  return {};
}

Expected<std::vector<Values>> RangeProfiler::stop() {
  if (counting_ == nullptr) return fail(Error::Kind::bad_input, "nothing is being counted; start it first");
  const Schedule& schedule = *counting_;
  counting_ = nullptr;
  auto end = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  end.pRangeProfilerObject = profiler_;
  if (auto ok = cupti_.check(cupti_.cuptiRangeProfilerStop(&end), "counting doesn't stop"); !ok)
    return tl::unexpected<Error>(ok.error());
  if (end.isAllPassSubmitted == 0)
    return fail(Error::Kind::device, "the counters want another pass than the one planned; try again");
  auto decode = sized<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  decode.pRangeProfilerObject = profiler_;
  if (auto ok = cupti_.check(cupti_.cuptiRangeProfilerDecodeData(&decode), "can't read counters"); !ok)
    return tl::unexpected<Error>(ok.error());
  if (decode.numOfRangeDropped != 0)
    return fail(Error::Kind::device, fmt::format("{} stretches were not counted: more than were announced; try again",
                                                 decode.numOfRangeDropped));
  auto info =
      sized<CUpti_RangeProfiler_GetCounterDataInfo_Params>(CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
  info.pCounterDataImage = image_.data();
  info.counterDataImageSize = image_.size();
  if (auto ok = cupti_.check(cupti_.cuptiRangeProfilerGetCounterDataInfo(&info), "can't read counters"); !ok)
    return tl::unexpected<Error>(ok.error());
  std::vector<Values> all;
  for (std::size_t range = 0; range < info.numTotalRanges; ++range) {
    auto values = schedule.evaluate(image_, range);
    if (!values) return tl::unexpected<Error>(values.error());
    if (std::any_of(values->begin(), values->end(), [](double v) { return !std::isfinite(v); }))
      return fail(Error::Kind::device,
                  fmt::format("the counters of stretch {} can't be decoded; try again", range + 1));
    all.push_back(std::move(*values));
  }
  return all;
}

}  // namespace gputopo::counters
