#include "program/stream.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace gputopo::program {
namespace {

constexpr std::uint32_t most_threads = 1024;
constexpr std::uint32_t most_items = 1024;
constexpr std::uint32_t most_bulk = 1U << 20U;
constexpr std::uint64_t most_laps = 1U << 24U;
constexpr std::uint64_t largest_footprint = std::uint64_t{1} << 40U;

bool is_atomic(const Stream& s) {
  return s.operation == Operation::fetch_add || s.operation == Operation::add;
}

bool is_global(Path path) {
  return path == Path::global_cached || path == Path::global_l2_only;
}

std::string_view fault_of_path(const Stream& s) {
  if (s.path == Path::global_no_allocate || s.path == Path::read_only) return "takes a path that streams don't have";
  const bool read_only = s.path == Path::texture || s.path == Path::constant;
  if (read_only && s.operation != Operation::read) return "writes where only reading works";
  if (s.path == Path::global_l2_only && s.operation != Operation::read && s.operation != Operation::copy)
    return "writes by a path of its own; every write to global memory passes by the L1";
  if (is_atomic(s) && (s.access_bytes != 4 || s.arrangement != Arrangement::fixed))
    return "adds atomically to other than fixed words of 4 bytes";
  if (s.path == Path::texture && s.access_bytes < 4) return "fetches less than 4 bytes of a texture";
  if (s.path == Path::constant && s.arrangement != Arrangement::broadcast)
    return "has lanes ask for different constants";
  const bool copied =
      s.path == Path::global_l2_only && s.operation == Operation::read && s.threads == warp_lanes && s.items == 1;
  if (s.arrangement == Arrangement::bulk &&
      (!copied || s.bulk_bytes == 0 || s.bulk_bytes % 16 != 0 || s.bulk_bytes > most_bulk))
    return "copies in bulk other than 16 bytes to 1 MiB of what is read, past the L1, by one warp a block";
  if (is_transfer(s.operation) && (!s.one_shot || s.path != Path::global_cached))
    return "passes the link to the host in other than whole copies of global memory";
  if (s.in_turn && (s.path != Path::global_l2_only || s.operation != Operation::read ||
                    s.arrangement != Arrangement::striped || is_of_all(s.region)))
    return "takes laps in turn of other than a block's or the grid's own bytes, read past the L1 by striped lanes";
  if (s.path == Path::shared && s.region != Region::block) return "shares one block's memory among blocks";
  return {};
}

std::string_view fault_of_grid(const Stream& s) {
  if (s.threads == 0 || s.threads > most_threads || s.threads % warp_lanes != 0) return "has no whole warps in a block";
  if (s.blocks == 0 || s.laps == 0 || s.laps > most_laps) return "has no blocks or no laps, or too many laps";
  if (s.items == 0 || s.items > most_items || s.unroll == 0 || s.unroll > most_items)
    return "has no items, none in flight, or too many";
  if (s.arrangement == Arrangement::fixed && s.items % s.unroll != 0)
    return "has other than a whole number of unrolled items";
  if (s.carve_out_percent > 100) return "asks for a carve-out above 100 percent";
  const bool one_step = s.region == Region::grid && s.footprint_bytes == step_bytes(s);
  if (s.one_shot && (!one_step || !is_global(s.path))) return "is one shot over more or less than one step of its grid";
  return {};
}

std::string_view fault_of_footprint(const Stream& s) {
  if (s.footprint_bytes == 0 || s.footprint_bytes > largest_footprint) return "walks nothing, or over 1 TiB";
  if (s.arrangement != Arrangement::fixed)
    return s.footprint_bytes % step_bytes(s) == 0 ? "" : "walks a footprint of other than whole steps";
  if (s.lane_group == 0 || s.lane_group > warp_lanes) return "has lanes in groups of none, or of more than a warp";
  for (const std::uint64_t stride : {s.lane_stride_bytes, s.group_stride_bytes, s.warp_stride_bytes})
    if (stride > s.footprint_bytes || (s.access_bytes > 1 && stride % s.access_bytes != 0))
      return "has lanes at places that its width doesn't divide, or outside its footprint";
  std::uint64_t last = 0;
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) last = std::max(last, lane_offset(s, lane));
  last += (s.threads / warp_lanes - 1) * s.warp_stride_bytes + s.access_bytes;
  return last <= s.footprint_bytes ? "" : "has lanes outside its footprint";
}

}  // namespace

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::read:
      return "read";
    case Operation::write:
      return "write";
    case Operation::copy:
      return "copy";
    case Operation::fetch_add:
      return "fetch_add";
    case Operation::add:
      return "add";
    case Operation::upload:
      return "upload";
    case Operation::download:
      return "download";
  }
  return "?";
}

std::string_view to_string(Region region) {
  switch (region) {
    case Region::block:
      return "block";
    case Region::grid:
      return "grid";
    case Region::all:
      return "all";
    case Region::together:
      return "together";
  }
  return "?";
}

std::string_view to_string(Arrangement arrangement) {
  switch (arrangement) {
    case Arrangement::striped:
      return "striped";
    case Arrangement::direct:
      return "direct";
    case Arrangement::broadcast:
      return "broadcast";
    case Arrangement::bulk:
      return "bulk";
    case Arrangement::fixed:
      return "fixed";
  }
  return "?";
}

std::uint64_t lane_offset(const Stream& s, std::uint32_t lane) {
  switch (s.arrangement) {
    case Arrangement::striped:
      return std::uint64_t{lane} * s.access_bytes;
    case Arrangement::direct:
      return std::uint64_t{lane} * s.items * s.access_bytes;
    case Arrangement::broadcast:
    case Arrangement::bulk:
      return 0;
    case Arrangement::fixed:
      return lane / s.lane_group * s.group_stride_bytes + lane % s.lane_group * s.lane_stride_bytes;
  }
  return 0;
}

std::uint64_t item_stride(const Stream& s) {
  if (s.arrangement == Arrangement::fixed) return 0;
  if (s.arrangement == Arrangement::bulk) return s.bulk_bytes;
  return std::uint64_t{s.access_bytes} * (s.arrangement == Arrangement::striped ? warp_lanes : 1);
}

std::uint64_t warp_stride(const Stream& s) {
  if (s.arrangement == Arrangement::fixed) return s.warp_stride_bytes;
  if (s.arrangement == Arrangement::bulk) return std::uint64_t{s.bulk_bytes} * s.items;
  const std::uint64_t lanes = s.arrangement == Arrangement::broadcast ? 1 : warp_lanes;
  return lanes * s.access_bytes * s.items;
}

std::uint64_t step_bytes(const Stream& s) {
  if (s.arrangement == Arrangement::fixed) return 0;
  return warp_stride(s) * (s.threads / warp_lanes) * (s.region == Region::grid ? s.blocks : 1);
}

std::uint64_t trips(const Stream& s) {
  const std::uint64_t step = step_bytes(s);
  return step == 0 ? 1 : s.footprint_bytes / step;
}

std::uint64_t warp_bytes(const Stream& s) {
  if (s.arrangement == Arrangement::bulk) return s.bulk_bytes;
  if (s.arrangement == Arrangement::broadcast) return s.access_bytes;
  if (s.arrangement != Arrangement::fixed) return std::uint64_t{warp_lanes} * s.access_bytes;
  std::set<std::uint64_t> bytes;
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
    for (std::uint32_t i = 0; i < s.access_bytes; ++i) bytes.insert(lane_offset(s, lane) + i);
  return bytes.size();
}

std::uint64_t buffer_bytes(const Stream& s) {
  return s.footprint_bytes * (s.region == Region::block ? s.blocks : 1);
}

std::uint64_t counted_accesses(const Stream& s) {
  const std::uint64_t each = s.operation == Operation::copy ? 2 : 1;
  return each * s.laps * trips(s) * s.items * (s.threads / warp_lanes) * s.blocks;
}

std::uint64_t counted_bytes(const Stream& s) {
  return counted_accesses(s) * warp_bytes(s);
}

Stream fitted(Stream s, std::uint64_t footprint_bytes) {
  const std::uint64_t step = std::max<std::uint64_t>(1, step_bytes(s));
  s.footprint_bytes = std::max<std::uint64_t>(1, footprint_bytes / step) * step;
  return s;
}

Expected<void> validate(const Stream& s) {
  const auto bad = [&](std::string_view why) {
    return fail(Error::Kind::bad_input, fmt::format("stream '{}': {}", s.label, why));
  };
  const std::uint32_t w = s.access_bytes;
  if (w != 1 && w != 2 && w != 4 && w != 8 && w != 16) return bad("its accesses aren't of 1, 2, 4, 8 or 16 bytes");
  for (const auto fault : {fault_of_path, fault_of_grid, fault_of_footprint})
    if (const std::string_view why = fault(s); !why.empty()) return bad(why);
  return {};
}

}  // namespace gputopo::program
