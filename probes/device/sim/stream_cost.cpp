#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "device/sim/stream_runner.hpp"

namespace gputopo::sim {
namespace {

using program::Arrangement;
using program::Path;
using program::Region;
using program::Stream;

constexpr std::uint64_t atomic_line_bytes = 128;

std::uint64_t blocks_on_sm(const Model& m, const Stream& s) {
  return (s.blocks + m.gpu.sm_count - 1) / m.gpu.sm_count;
}

// Bytes that reach one set of a cache's instances, which `sms` SMs share.
std::uint64_t bytes_seen(const Model& m, const Stream& s, std::uint64_t sms) {
  const std::uint64_t buffers = s.operation == program::Operation::copy ? 2 : 1;
  const std::uint64_t blocks = std::min<std::uint64_t>(s.blocks, sms * blocks_on_sm(m, s));
  if (program::is_of_all(s.region)) return buffers * s.footprint_bytes;
  if (s.region == Region::block) return buffers * blocks * s.footprint_bytes;
  return buffers * s.footprint_bytes / s.blocks * blocks;
}

bool fits(const Model& m, const Stream& s, std::size_t cache) {
  const CacheModel& c = m.caches[cache];
  std::uint64_t carved = 0;
  if (m.shared && m.shared->carved_from == cache) carved = carve_out_bytes(*m.shared, s.carve_out_percent, 0);
  const auto sets = sharing_sets(m, c);
  return bytes_seen(m, s, sets.front().size()) <= c.instances * usable_bytes(c, carved);
}

std::string_view id_of(Path path, std::size_t level, bool beyond) {
  if (beyond) return "l2";
  if (path == Path::texture) return "texture";
  if (path == Path::constant) return level == 0 ? "constant_l1" : "constant_l1_5";
  return "l1";
}

}  // namespace

Expected<Served> serve(const Model& m, const Stream& s) {
  if (s.path == Path::shared) {
    if (!m.shared) return fail(Error::Kind::unavailable, "this GPU has no shared memory; leave that measurement out");
    return Served{"shared", m.shared->latency_cycles, false, atomic_line_bytes};
  }
  // Writes and atomics go past the L1, whose copies they don't need.
  const bool writes = s.operation != program::Operation::read;
  const auto& path = m.path(writes ? Path::global_l2_only : s.path);
  if (!path) return fail(Error::Kind::unavailable, fmt::format("this GPU has no {} path", program::to_string(s.path)));
  const std::uint64_t line = path->front().cache ? m.caches[*path->front().cache].line_bytes : atomic_line_bytes;
  for (std::size_t i = 0; i < path->size(); ++i) {
    const Level& level = (*path)[i];
    if (!level.cache) break;
    const bool beyond = is_beyond_sms(m, *level.cache);
    if (fits(m, s, *level.cache)) return Served{id_of(s.path, i, beyond), level.latency_cycles, beyond, line};
  }
  return Served{"device_memory", path->back().latency_cycles, true, line};
}

double shared_access_cycles(const ThroughputModel& t, const Stream& s, double rate) {
  // Words of each bank that the warp wants; lanes that want the same word are served together.
  std::map<std::uint64_t, std::set<std::uint64_t>> words;
  const std::uint64_t row = std::uint64_t{t.banks.count} * t.banks.bytes;
  for (std::uint32_t lane = 0; lane < program::warp_lanes; ++lane)
    for (std::uint32_t i = 0; i < s.access_bytes; ++i) {
      const std::uint64_t at = program::lane_offset(s, lane) + i;
      words[at % row / t.banks.bytes].insert(at / row);
    }
  std::size_t turns = 0;
  for (const auto& [bank, rows] : words) turns = std::max(turns, rows.size());
  const std::uint64_t bytes = program::warp_bytes(s);
  const std::uint64_t needed = (bytes + row - 1) / row;
  // A turn moves a row, whole or not.
  return static_cast<double>(needed * row) / rate + static_cast<double>(turns - needed) * t.banks.conflict_cycles;
}

std::uint64_t lines_touched(const Stream& s, std::uint64_t line_bytes) {
  std::set<std::uint64_t> lines;
  for (std::uint32_t lane = 0; lane < program::warp_lanes; ++lane) {
    const std::uint64_t at = program::lane_offset(s, lane);
    lines.insert(at / line_bytes);
    lines.insert((at + s.access_bytes - 1) / line_bytes);
  }
  return lines.size();
}

double atomic_cycles(const AtomicThroughput& rates, const Stream& s, std::uint32_t sms) {
  std::map<std::uint64_t, std::uint64_t> by_address;
  std::map<std::uint64_t, std::uint64_t> by_line;
  const std::uint32_t warps = s.threads / program::warp_lanes;
  for (std::uint32_t warp = 0; warp < warps; ++warp)
    for (std::uint32_t lane = 0; lane < program::warp_lanes; ++lane) {
      const std::uint64_t at = warp * s.warp_stride_bytes + program::lane_offset(s, lane);
      ++by_address[at];
      ++by_line[at / atomic_line_bytes];
    }
  const auto most = [](const auto& counts) {
    std::uint64_t largest = 0;
    for (const auto& [place, count] : counts) largest = std::max(largest, count);
    return static_cast<double>(largest);
  };
  const bool is_shared = s.path == Path::shared;
  const std::uint64_t blocks = is_shared ? (s.blocks + sms - 1) / sms : s.blocks;
  const double turns = static_cast<double>(s.laps) * s.items;
  // Blocks of one region add to the same places; each to its own where the region is the block's, which may still lie
  // in one line with the next ones.
  const bool own = s.region == Region::block;
  const double on_address = most(by_address) * turns * (own ? 1 : static_cast<double>(blocks));
  const double in_line =
      own && !is_shared ? std::max(1.0, static_cast<double>(atomic_line_bytes) / static_cast<double>(s.footprint_bytes))
                        : 1;
  const double on_line =
      most(by_line) * turns * (own ? std::min(in_line, static_cast<double>(blocks)) : static_cast<double>(blocks));
  const double all = static_cast<double>(s.threads) * turns * static_cast<double>(blocks);
  double cycles = all / rates.spread;
  if (rates.address > 0) cycles = std::max(cycles, on_address / rates.address);
  if (rates.line > 0) cycles = std::max(cycles, on_line / rates.line);
  return cycles;
}

}  // namespace gputopo::sim
