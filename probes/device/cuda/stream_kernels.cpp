#include "device/cuda/stream_kernels.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace gputopo::device::cuda {
namespace {

using program::Arrangement;
using program::Operation;
using program::Path;
using program::Region;
using program::Stream;

// Of a warp: some 7 us of an H200's L2, so that half of that is all that one warp ends before another, and yet the word
// that counts turns is asked for less often than half of what it can answer.
constexpr std::uint64_t turn_bytes = 16384;

tl::unexpected<Error> lacking(const Stream& s, std::string_view what) {
  return fail(Error::Kind::unavailable, fmt::format("stream '{}': {}", s.label, what));
}

std::string_view where_of(Path path) {
  switch (path) {
    case Path::global_l2_only:
      return "l2_only";
    case Path::texture:
      return "texture";
    case Path::constant:
      return "constant";
    case Path::shared:
      return "shared";
    default:
      return "cached";
  }
}

// As kernels/stream.cu has them: what lies between accesses.
std::string_view layout_of(const Stream& s) {
  if (s.arrangement == Arrangement::fixed) return "fixed";
  if (s.arrangement == Arrangement::bulk) return "bulk";
  if (s.items == s.unroll && s.arrangement == Arrangement::striped) return "run";
  if (s.items == s.unroll && s.path == Path::constant) return "row";
  return "far";
}

// As kernels/stream.cu lists them.
bool is_compiled(const Stream& s) {
  if (s.one_shot)
    return (s.operation == Operation::write || s.operation == Operation::copy) && s.items == 1 && s.access_bytes >= 4;
  const std::string_view layout = layout_of(s);
  const bool few = s.unroll == 1 || s.unroll == 2 || s.unroll == 4 || s.unroll == 8;
  const bool moves = s.operation == Operation::read || s.operation == Operation::write;
  if (layout == "fixed") {
    if (!moves) return s.operation != Operation::copy && (s.unroll == 1 || s.unroll == 4);
    const bool is_wide = s.access_bytes == 4 && (s.unroll == 1 || s.unroll == 8);
    return s.path == Path::shared && (is_wide || (s.access_bytes == 1 && s.unroll == 8));
  }
  if (layout == "bulk") return s.unroll <= kernels::most_stages;
  if (s.access_bytes < 4) return false;
  if (layout == "far") return s.path == Path::global_cached && moves && s.unroll == kernels::far_unroll;
  const bool deep = s.operation == Operation::read && (s.path == Path::global_cached || s.path == Path::shared) &&
                    s.access_bytes <= 8 && (s.unroll == 16 || s.unroll == 32);
  return few || deep;
}

}  // namespace

Expected<std::string> stream_kernel(const Stream& s) {
  if (!is_compiled(s)) return lacking(s, "there is no kernel of that width, arrangement and unrolling; use another");
  const std::uint32_t most = s.one_shot ? s.threads
                                        : kernels::most_stream_threads(s.operation == Operation::copy,
                                                                       layout_of(s) == "far", s.access_bytes, s.unroll);
  if (s.threads > most) return lacking(s, fmt::format("its kernel takes at most {} threads; use fewer", most));
  if (s.arrangement == Arrangement::bulk) return "stream_read_bulk";
  if (s.one_shot) return fmt::format("stream_once_{}_{}", program::to_string(s.operation), s.access_bytes);
  return fmt::format("stream_{}_{}_{}_{}_{}", program::to_string(s.operation), where_of(s.path), s.access_bytes,
                     layout_of(s), s.unroll);
}

kernels::StreamArguments stream_arguments(const Stream& s) {
  kernels::StreamArguments a{};
  const bool fixed = s.arrangement == Arrangement::fixed;
  const std::uint64_t step = program::step_bytes(s);
  a.region = s.footprint_bytes;
  a.step = fixed ? 0 : step;
  if (s.region == Region::block && s.path != Path::shared) a.block_base = s.footprint_bytes;
  if (!fixed && s.region == Region::grid) a.block_start = step / s.blocks;
  if (!fixed && s.region == Region::all) a.block_start = s.footprint_bytes / step / s.blocks * step;
  a.trips = program::trips(s);
  a.laps = s.laps;
  a.warm_laps = s.laps > 1 ? 1 : 0;
  a.warp_stride = program::warp_stride(s);
  a.item_stride = static_cast<std::uint32_t>(program::item_stride(s));
  a.lane_group = fixed ? s.lane_group : program::warp_lanes;
  a.lane_stride = static_cast<std::uint32_t>(fixed ? s.lane_stride_bytes : program::lane_offset(s, 1));
  a.group_stride = fixed ? static_cast<std::uint32_t>(s.group_stride_bytes) : 0;
  a.items = s.items;
  if (s.path == Path::shared) a.shared_words = static_cast<std::uint32_t>(s.footprint_bytes / 4);
  a.stages = s.unroll;
  return a;
}

kernels::StreamCommon stream_common(const Stream& s) {
  kernels::StreamCommon common{};
  if (!s.in_turn) return common;
  const std::uint64_t lap_of_warp = program::trips(s) * s.items * program::warp_bytes(s);
  common.laps_in_turn = s.laps / program::turns_of_laps;
  common.laps_of_turn = static_cast<std::uint32_t>((turn_bytes + lap_of_warp - 1) / lap_of_warp);
  return common;
}

std::uint64_t dynamic_shared_bytes(const Stream& s) {
  if (s.arrangement == Arrangement::bulk) return std::uint64_t{s.bulk_bytes} * s.unroll;
  return s.path == Path::shared ? s.footprint_bytes : 0;
}

Expected<void> check_stream(const Stream& s, const DeviceInfo& info) {
  const bool copies_memory = s.operation == Operation::copy && s.path != Path::shared;
  if (s.path == Path::constant && program::buffer_bytes(s) > kernels::stream_bank_bytes)
    return lacking(s, fmt::format("a constant bank holds {} B; use less", kernels::stream_bank_bytes));
  if (s.path == Path::texture && program::buffer_bytes(s) / s.access_bytes > info.texture_elements)
    return lacking(s, fmt::format("a texture has {} elements; use less", info.texture_elements));
  if (s.arrangement == Arrangement::bulk && !has_copy_engine(info.gpu))
    return lacking(s, "this GPU's SMs have no copy engine; use other accesses");
  if (dynamic_shared_bytes(s) > info.shared_bytes_per_block)
    return lacking(s, fmt::format("a block has {} B of shared memory; use less", info.shared_bytes_per_block));
  const bool is_global = s.path == Path::global_cached || s.path == Path::global_l2_only;
  if (!is_global && program::trips(s) * s.laps > UINT32_MAX)
    return lacking(s, "so many laps take longer than a stream may; use fewer");
  if (s.path != Path::shared &&
      (s.first_byte + program::buffer_bytes(s)) * (copies_memory ? 2 : 1) > info.largest_buffer_bytes)
    return lacking(s, fmt::format("the device memory has room for {} B; use less", info.largest_buffer_bytes));
  return {};
}

BlockTimes block_times(const kernels::StreamBlock* blocks, std::uint32_t count) {
  struct Span {
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::map<std::uint32_t, Span> of_sm;
  Span all{blocks[0].begin_ns, blocks[0].end_ns};
  for (std::uint32_t i = 0; i < count; ++i) {
    const kernels::StreamBlock& b = blocks[i];
    const auto [at, is_new] = of_sm.insert({b.sm, {b.begin_clock, b.end_clock}});
    if (!is_new) at->second = {std::min(at->second.begin, b.begin_clock), std::max(at->second.end, b.end_clock)};
    all = {std::min(all.begin, b.begin_ns), std::max(all.end, b.end_ns)};
  }
  double cycles = 0;
  for (const auto& [sm, span] : of_sm) cycles += static_cast<double>(span.end - span.begin);
  return {static_cast<std::uint64_t>(cycles / static_cast<double>(of_sm.size()) + 0.5), all.end - all.begin,
          static_cast<std::uint32_t>(of_sm.size())};
}

program::StreamTrace stream_trace(const Stream& s, const kernels::StreamBlock* blocks) {
  const BlockTimes times = block_times(blocks, s.blocks);
  return {program::counted_bytes(s), program::counted_accesses(s), times.cycles, times.ns, times.sms};
}

}  // namespace gputopo::device::cuda
