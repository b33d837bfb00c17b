// A CUPTI whose every answer a test decides. Habits of the real one are kept: metrics that are added in separate calls
// get a pass each; a profiler decodes only the metrics it was first set up for since it was enabled; ranges of one name
// are one range.
#include "fake_cupti.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <limits>

struct CUpti_Profiler_Host_Object {
  std::vector<std::string> metrics;
  std::size_t passes = 0;
};
struct CUpti_RangeProfiler_Object {
  std::string open_range;
  std::vector<std::string> names;
  std::string decodes;
  std::string config;
  std::size_t most = 0;
  std::vector<double> launches;
  std::uint8_t* image = nullptr;
};

namespace {

using gputopo::counters::FakeCupti;

FakeCupti state;
CUpti_RangeProfiler_Object profiler;
constexpr std::size_t image_header = 2 * sizeof(double);  // number of ranges, and 1 where they can't be decoded

CUptiResult result(const char* function) {
  return state.failing == function ? static_cast<CUptiResult>(state.code) : CUPTI_SUCCESS;
}

std::string config_of(const CUpti_Profiler_Host_Object& host) {
  std::string text = std::to_string(host.passes) + '\n';
  for (const auto& m : host.metrics) text += m + '\n';
  return text;
}

}  // namespace

#define FAKE(name) \
  if (const CUptiResult r = result(#name); r != CUPTI_SUCCESS) return r

extern "C" {

FakeCupti* fake_cupti_state() {
  return &state;
}
void fake_cupti_launch(double value) {
  if (state.counting && !profiler.open_range.empty()) profiler.launches.back() += value;
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  *pctx = state.has_context ? reinterpret_cast<CUcontext>(&state) : nullptr;
  return CUDA_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** str) {
  *str = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_FAKE";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) {
  FAKE(cuptiProfilerInitialize);
  ++state.initialized;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params*) {
  --state.initialized;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* p) {
  FAKE(cuptiProfilerDeviceSupported);
  const auto level = [](int value) { return static_cast<CUpti_Profiler_Support_Level>(value); };
  p->isSupported = level(state.support);
  p->architecture = p->sli = p->cmp = p->wsl = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  p->vGpu = level(state.v_gpu);
  p->confidentialCompute = level(state.confidential);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  FAKE(cuptiDeviceGetChipName);
  p->pChipName = "GH100";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* p) {
  FAKE(cuptiProfilerGetCounterAvailability);
  if (p->pCounterAvailabilityImage == nullptr) p->counterAvailabilityImageSize = 8;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* p) {
  FAKE(cuptiProfilerHostGetSupportedChips);
  static const char* const names[] = {"GH100"};
  p->numChips = 1;
  p->ppChipNames = names;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  FAKE(cuptiProfilerHostInitialize);
  p->pHostObject = new CUpti_Profiler_Host_Object;
  ++state.hosts;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  delete p->pHostObject;
  --state.hosts;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  FAKE(cuptiProfilerHostConfigAddMetrics);
  for (std::size_t i = 0; i < p->numMetrics; ++i)
    if (std::strstr(p->ppMetricNames[i], "no_such") != nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  for (std::size_t i = 0; i < p->numMetrics; ++i) p->pHostObject->metrics.emplace_back(p->ppMetricNames[i]);
  // Three metrics fit into a pass.
  p->pHostObject->passes += (p->numMetrics + 2) / 3;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  FAKE(cuptiProfilerHostGetConfigImageSize);
  p->configImageSize = config_of(*p->pHostObject).size();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  FAKE(cuptiProfilerHostGetConfigImage);
  const std::string text = config_of(*p->pHostObject);
  std::memcpy(p->pConfigImage, text.data(), text.size());
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  FAKE(cuptiProfilerHostGetNumOfPasses);
  p->numOfPasses = std::stoul(std::string(p->pConfigImage, p->pConfigImage + p->configImageSize));
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  FAKE(cuptiProfilerHostEvaluateToGpuValues);
  const auto* values = reinterpret_cast<const double*>(p->pCounterDataImage);
  for (std::size_t i = 0; i < p->numMetrics; ++i)
    p->pMetricValues[i] =
        values[1] != 0 ? std::numeric_limits<double>::quiet_NaN() : values[2 + p->rangeIndex] + static_cast<double>(i);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  FAKE(cuptiRangeProfilerEnable);
  profiler = {};
  p->pRangeProfilerObject = &profiler;
  ++state.enabled;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params*) {
  --state.enabled;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  FAKE(cuptiRangeProfilerGetCounterDataSize);
  p->counterDataSize = image_header + p->maxNumOfRanges * sizeof(double);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params* p) {
  FAKE(cuptiRangeProfilerCounterDataImageInitialize);
  std::memset(p->pCounterData, 0, p->counterDataSize);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  FAKE(cuptiRangeProfilerSetConfig);
  profiler.config.assign(p->pConfig, p->pConfig + p->configSize);
  if (profiler.decodes.empty()) profiler.decodes = profiler.config;
  profiler.most = p->maxRangesPerPass;
  profiler.image = p->pCounterDataImage;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  FAKE(cuptiRangeProfilerStart);
  ++state.starts;
  profiler.launches.clear();
  profiler.names.clear();
  state.counting = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* p) {
  FAKE(cuptiRangeProfilerPushRange);
  if (!state.counting) return CUPTI_ERROR_INVALID_OPERATION;
  if (!profiler.open_range.empty()) return CUPTI_ERROR_INVALID_OPERATION;
  profiler.open_range = p->pRangeName;
  // A range of a name that was there before goes on with that one.
  if (std::find(profiler.names.begin(), profiler.names.end(), profiler.open_range) == profiler.names.end()) {
    profiler.names.push_back(profiler.open_range);
    profiler.launches.push_back(0);
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
  FAKE(cuptiRangeProfilerPopRange);
  if (profiler.open_range.empty()) return CUPTI_ERROR_INVALID_OPERATION;
  profiler.open_range.clear();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  state.counting = false;
  FAKE(cuptiRangeProfilerStop);
  p->isAllPassSubmitted = state.keeps_a_pass ? 0 : 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  FAKE(cuptiRangeProfilerDecodeData);
  auto* values = reinterpret_cast<double*>(profiler.image);
  const std::size_t kept = std::min(profiler.launches.size(), profiler.most);
  values[0] = static_cast<double>(kept);
  values[1] = profiler.decodes == profiler.config ? 0 : 1;
  for (std::size_t i = 0; i < kept; ++i) values[2 + i] = profiler.launches[i];
  p->numOfRangeDropped = profiler.launches.size() - kept;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* p) {
  FAKE(cuptiRangeProfilerGetCounterDataInfo);
  p->numTotalRanges = static_cast<std::size_t>(*reinterpret_cast<const double*>(p->pCounterDataImage));
  return CUPTI_SUCCESS;
}

}  // extern "C"
