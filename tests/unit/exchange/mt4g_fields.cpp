#include "mt4g_fields.hpp"

#include <algorithm>
#include <array>

namespace gputopo::exchange {
namespace {

using nlohmann::json;
using Presence = FieldOfMt4g::Presence;

constexpr Presence required = Presence::required;
constexpr Presence optional = Presence::optional;
constexpr Presence where_parent_is = Presence::where_parent_is;

constexpr std::array<FieldOfMt4g, 58> fields{{
    {"/general/name", required},
    {"/general/vendor", required},
    {"/general/computeCapability/major", required},
    {"/general/computeCapability/minor", required},
    {"/general/clockRate/value", required},
    {"/compute/multiProcessorCount", required},
    {"/compute/numberOfCoresPerMultiProcessor", required},
    {"/compute/maxThreadsPerBlock", required},
    {"/compute/warpSize", required},
    {"/compute/maxThreadsPerMultiProcessor", required},
    {"/compute/maxBlocksPerMultiProcessor", required},
    {"/memory/main/totalGlobalMem/value", required},
    {"/memory/main/memoryClockRate/value", required},
    {"/memory/main/memoryBusWidth/value", required},
    {"/memory/main/latency/mean", optional},
    {"/memory/main/readBandwidth/value", optional},
    {"/memory/main/writeBandwidth/value", optional},
    {"/memory/l2/size/value", required},
    {"/memory/l2/amount", optional},
    {"/memory/l2/lineSize/size", optional},
    {"/memory/l2/fetchGranularity/size", optional},
    {"/memory/l2/segmentSize/size", optional},
    {"/memory/l2/latency/mean", optional},
    {"/memory/l2/readBandwidth/value", optional},
    {"/memory/l2/writeBandwidth/value", optional},
    {"/memory/l2/missPenalty/value", optional},
    {"/memory/constant/totalConstMem/value", required},
    {"/memory/constant/l1.5/size/size", where_parent_is},
    {"/memory/constant/l1.5/fetchGranularity/size", where_parent_is},
    {"/memory/constant/l1.5/lineSize/size", optional},
    {"/memory/constant/l1.5/latency/mean", optional},
    {"/memory/constant/l1/size/size", where_parent_is},
    {"/memory/constant/l1/fetchGranularity/size", where_parent_is},
    {"/memory/constant/l1/latency/mean", where_parent_is},
    {"/memory/constant/l1/lineSize/size", optional},
    {"/memory/constant/l1/missPenalty/value", optional},
    {"/memory/constant/l1/amountPerMultiprocessor", optional},
    {"/memory/shared/sharedMemPerBlock/value", required},
    {"/memory/shared/sharedMemPerMultiProcessor/value", required},
    {"/memory/shared/latency/mean", optional},
    {"/memory/l1/size/size", optional},
    {"/memory/l1/lineSize/size", optional},
    {"/memory/l1/fetchGranularity/size", optional},
    {"/memory/l1/latency/mean", optional},
    {"/memory/l1/missPenalty/value", optional},
    {"/memory/l1/amountPerMultiprocessor", optional},
    {"/memory/texture/size/size", where_parent_is},
    {"/memory/texture/fetchGranularity/size", where_parent_is},
    {"/memory/texture/latency/mean", where_parent_is},
    {"/memory/texture/lineSize/size", optional},
    {"/memory/texture/missPenalty/value", optional},
    {"/memory/texture/amountPerMultiprocessor", optional},
    {"/memory/readOnly/size/size", where_parent_is},
    {"/memory/readOnly/fetchGranularity/size", where_parent_is},
    {"/memory/readOnly/latency/mean", where_parent_is},
    {"/memory/readOnly/lineSize/size", optional},
    {"/memory/readOnly/missPenalty/value", optional},
    {"/memory/readOnly/amountPerMultiprocessor", optional},
}};

bool has(const json& file, std::string_view pointer) {
  return file.contains(json::json_pointer(std::string(pointer)));
}

// "/memory/texture" of "/memory/texture/size/size": the cache that a member belongs to.
std::string cache_of(std::string_view pointer) {
  const std::string text(pointer);
  return text.substr(0, text.rfind('/', text.rfind('/') - 1));
}

bool is_known(const std::string& pointer) {
  if (pointer.starts_with("/meta/") || pointer.find("/sharedWith/") != pointer.npos) return true;
  if (pointer.ends_with("/unit") || pointer.ends_with("/confidence")) return true;
  return std::any_of(fields.begin(), fields.end(), [&](const FieldOfMt4g& f) { return f.pointer == pointer; });
}

void need_together(const json& file, const std::string& memory, std::vector<std::string>& faults) {
  if (has(file, memory + "/latency") &&
      (!has(file, memory + "/readBandwidth/value") || !has(file, memory + "/writeBandwidth/value")))
    faults.push_back(memory + "/latency without both bandwidths");
}

}  // namespace

std::vector<std::string> faults_for_sys_sage(const json& file) {
  std::vector<std::string> faults;
  for (const FieldOfMt4g& field : fields) {
    const bool is_needed =
        field.presence == required || (field.presence == where_parent_is && has(file, cache_of(field.pointer)));
    if (is_needed && !has(file, field.pointer)) faults.push_back("lacks " + std::string(field.pointer));
  }
  const json flat = file.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (value.is_null() && pointer != "/memory/l1") faults.push_back(pointer + " is null");
    if (!is_known(pointer) && pointer != "/memory/l1") faults.push_back(pointer + " isn't of the format");
  }
  need_together(file, "/memory/main", faults);
  need_together(file, "/memory/l2", faults);
  if (!has(file, "/memory/l1")) faults.emplace_back("lacks /memory/l1");
  if (has(file, "/memory/constant/l1") != has(file, "/memory/constant/l1.5"))
    faults.emplace_back("has one of the constant caches alone");
  if (has(file, "/memory/constant/l1/sharedWith")) faults.emplace_back("the constant L1 would be dropped");
  return faults;
}

}  // namespace gputopo::exchange
