// The parts of the model reader. Internal to this folder; all throw BadField.
#pragma once

#include <string>

#include "device/sim/fields.hpp"
#include "device/sim/model.hpp"

namespace gputopo::sim {

/// Limits that keep a hostile or mistyped model from exhausting memory or time.
inline constexpr double most_sms = 4096;
inline constexpr double most_cache_bytes = 0x1p32;
inline constexpr double most_cache_lines = 0x1p24;   ///< of one instance
inline constexpr double most_lines_in_all = 0x1p24;  ///< of all instances of a cache or TLB
inline constexpr double most_memory_bytes = 0x1p44;
inline constexpr double most_cycles = 1e6;

/// A grouping of SMs: a group's size, lists of SMs, or {"interleaved": groups}; empty where there is no such member.
SmSets read_grouping(Fields& fields, const char* key, std::uint32_t sm_count);
/// A number, or [low, high].
Span read_span(const Json& j, const std::string& path, Range range);

/// "groups": needs Model::gpu.
void read_groups(Fields& root, Model& model);
/// "caches", "tlbs": need the groups.
void read_caches(Fields& root, Model& model);
/// "shared": needs the caches.
void read_shared(Fields& root, Model& model);
/// "paths", "execution", "clock_overhead": need all above.
void read_paths(Fields& root, Model& model);
/// "background", "noise", "distance", "rows": what makes single loads differ. Need all above.
void read_variation(Fields& root, Model& model);
/// "neighbour", "tenant", "clock": who else uses the GPU. Need Model::gpu.
void read_disturbance(Fields& root, Model& model);
/// "throughput": needs Model::gpu.
void read_throughput(Fields& root, Model& model);

/// That running the model takes no more memory than any file may ask for. Needs the paths.
void check_room(const Model& model);

/// Index into model.caches or model.tlbs of that name; size() where there is none.
std::size_t cache_of_name(const Model& model, std::string_view name);
std::size_t tlb_of_name(const Model& model, std::string_view name);

}  // namespace gputopo::sim
