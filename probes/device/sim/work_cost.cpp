#include "device/sim/work_cost.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>

#include "device/sim/random.hpp"
#include "program/stream.hpp"

namespace gputopo::sim {
namespace {

using program::Workload;
using program::WorkloadTrace;

constexpr std::uint32_t operations_in_a_round = 512;
constexpr int barriers_in_a_round = 32;
constexpr int operations_of_a_path = 64;
constexpr int loads_in_a_turn = 16;
constexpr std::uint64_t home_bytes = 4096;
constexpr std::uint64_t line_bytes = 128;
constexpr double atomic_cycles_at_home = 250;

double of(std::uint64_t n) {
  return static_cast<double>(n);
}

// The number at a name's end, as of "hold_48".
std::uint32_t number_of(const std::string& name) {
  std::uint32_t value = 0;
  const std::size_t at = name.rfind('_') + 1;
  std::from_chars(name.data() + at, name.data() + name.size(), value);
  return value;
}

std::optional<double> chain(const ThroughputModel& t, const Workload& w, WorkloadTrace& trace) {
  constexpr std::size_t prefix = 6;  // "chain_"
  const auto found = t.instructions.find(w.kernel.substr(prefix, w.kernel.rfind('_') - prefix));
  if (found == t.instructions.end() || trace.output.empty()) return std::nullopt;
  const double chains = number_of(w.kernel);
  trace.output.front() = operations_in_a_round;
  const double warps = w.threads / static_cast<double>(program::warp_lanes);
  return of(w.numbers[0]) * operations_in_a_round *
         std::max(found->second.latency_cycles / chains, warps / found->second.rate);
}

std::optional<double> cycles_of_paths(const ThroughputModel& t, const Workload& w) {
  const auto add = t.instructions.find("float_multiply_add");
  if (!t.control || add == t.instructions.end() || w.input.size() < program::warp_lanes) return std::nullopt;
  std::uint32_t any = 0, all = ~0U;
  for (const std::uint32_t taken : w.input) any |= taken, all &= taken;
  const int taken = std::popcount(any), parted = std::max(1, std::popcount(any & ~all)) - 1;
  return of(w.numbers[0]) *
         (taken * operations_of_a_path * add->second.latency_cycles + parted * t.control->divergence_cycles);
}

std::optional<double> clocks(const ThroughputModel& t, WorkloadTrace& trace) {
  if (!t.control) return std::nullopt;
  const std::size_t half = trace.output.size() / 2;
  for (std::uint32_t i = 0; i < half; ++i) {
    trace.output[i] = t.control->clock_cycles * (20 * i + i % 16 * (i % 16));
    trace.output[half + i] = t.control->timer_ns * (i + i / 7);
  }
  return 0;
}

std::optional<double> hold(const ThroughputModel& t, const Workload& w, WorkloadTrace& trace) {
  constexpr std::uint32_t most_registers = 64;
  constexpr std::uint32_t of_a_loop = 8;
  const auto add = t.instructions.find("integer_multiply_add");
  if (!t.registers || add == t.instructions.end()) return std::nullopt;
  const std::uint32_t items = number_of(w.kernel);
  trace.registers = std::min(most_registers, items + of_a_loop);
  trace.local_bytes = items > t.registers->held ? 4 * (items - t.registers->held) : 0;
  const double beyond = items > t.registers->free ? items - t.registers->free : 0;
  const double warps = w.threads / static_cast<double>(program::warp_lanes);
  return of(w.numbers[0]) * items * warps / add->second.rate * (1 + t.registers->cost * beyond);
}

std::optional<double> cluster(const ThroughputModel& t, const Workload& w, WorkloadTrace& trace) {
  const std::uint32_t size = number_of(w.kernel);
  if (!t.cluster || size > t.cluster->largest) return std::nullopt;
  if (w.kernel.starts_with("cluster_read"))
    return of(w.numbers[1] * w.numbers[2]) / (w.numbers[0] == 0 ? t.cluster->own_read : t.cluster->read);
  for (std::uint32_t reader = 0; reader < size; ++reader) {
    trace.output[reader] = reader;
    for (std::uint32_t owner = 0; owner < size; ++owner)
      trace.output[size + reader * size + owner] =
          static_cast<std::uint32_t>(loads_in_a_turn * of(w.numbers[0]) *
                                     (reader == owner ? t.cluster->own_latency_cycles : t.cluster->latency_cycles));
  }
  return 0;
}

// Clusters lie one behind another within each group that they are put in; those for which there is no room wait.
std::optional<double> cluster_places(const Model& m, const ThroughputModel& t, const Workload& w,
                                     WorkloadTrace& trace) {
  const std::uint32_t size = number_of(w.kernel);
  const SmSets& within = m.groups.cluster.empty() ? m.groups.gpc : m.groups.cluster;
  if (!t.cluster || size > t.cluster->largest || within.empty()) return std::nullopt;
  std::vector<std::uint32_t> places;
  for (const auto& group : within) places.insert(places.end(), group.begin(), group.end() - group.size() % size);
  if (places.empty()) return std::nullopt;
  for (std::size_t block = 0; block < trace.output.size(); ++block) trace.output[block] = places[block % places.size()];
  return 0;
}

std::uint32_t home_of(std::uint64_t line) {
  return static_cast<std::uint32_t>(mix(line * line_bytes / home_bytes) & 1U);
}

std::uint32_t side_of(const Model& m, std::uint32_t sm) {
  for (std::size_t side = 0; side < m.groups.partition.size(); ++side)
    if (std::count(m.groups.partition[side].begin(), m.groups.partition[side].end(), sm) != 0)
      return static_cast<std::uint32_t>(side);
  return 0;
}

// Atomics by the SMs, which take longer from afar; what is walked takes as long as its near and far lines together.
std::optional<double> sides(const Model& m, const ThroughputModel& t, const Workload& w, WorkloadTrace& trace) {
  if (!t.sides || m.groups.partition.size() != 2) return std::nullopt;
  const auto takes = [&](std::uint32_t side, std::uint64_t line) {
    return static_cast<std::uint32_t>(atomic_cycles_at_home + (side == home_of(line) ? 0 : t.sides->far_cycles));
  };
  if (w.kernel == "l2_times") {
    for (std::size_t i = 0; i < trace.output.size(); ++i)
      trace.output[i] = takes(side_of(m, static_cast<std::uint32_t>(i / w.numbers[0])), i % w.numbers[0]);
    return 0;
  }
  if (w.kernel == "l2_homes") {
    for (std::size_t line = 0; line < trace.output.size(); ++line)
      trace.output[line] = takes(0, line) | takes(1, line) << 16U;
    return 0;
  }
  const bool writes = w.kernel == "l2_write";
  double ns = 0;
  for (std::size_t sm = 0; sm < m.gpu.sm_count; ++sm)
    for (std::size_t i = 0; i < w.input[2 * sm + 1]; ++i) {
      const bool near = side_of(m, static_cast<std::uint32_t>(sm)) == home_of(w.input[w.input[2 * sm] + i]);
      ns += line_bytes / (writes ? (near ? t.sides->near_write : t.sides->far_write)
                                 : (near ? t.sides->near_read : t.sides->far_read));
    }
  return ns * of(w.numbers[0]) * of(m.gpu.clock_khz) / 1e6;
}

// All SMs add to the lines of their lists, a warp with 8 lanes to each.
std::optional<double> additions(const ThroughputModel& t, const Workload& w) {
  constexpr double lanes_of_a_line = 8;
  const auto kind = static_cast<std::size_t>(AtomicKind::global_add);
  if (t.slices == 0 || !t.has_atomics[kind] || t.atomics[kind].line == 0) return std::nullopt;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> sms_by_list;
  for (std::size_t sm = 0; sm < w.blocks; ++sm) ++sms_by_list[{w.input[2 * sm], w.input[2 * sm + 1]}];
  std::map<std::uint64_t, double> lanes_by_slice;
  double all = 0;
  for (const auto& [list, sms] : sms_by_list)
    for (std::size_t i = 0; i < list.second; ++i) {
      lanes_by_slice[slice_of_line(t, w.input[list.first + i])] += sms * lanes_of_a_line;
      all += sms * lanes_of_a_line;
    }
  double most = 0;
  for (const auto& [slice, lanes] : lanes_by_slice) most = std::max(most, lanes);
  return of(w.numbers[0]) * std::max(most / t.atomics[kind].line, all / t.atomics[kind].spread);
}

}  // namespace

std::uint64_t slice_of_line(const ThroughputModel& throughput, std::uint64_t line) {
  return mix(line) % throughput.slices;
}

// Each load by itself: near and far hits as on the path past the L1, where the sides keep no copies for their SMs; what
// isn't there comes from the memory beside the line's home.
std::optional<double> chase_cycles(const Model& m, const ThroughputModel& t, const Workload& w, bool cold) {
  const PathModel& path = *m.path(program::Path::global_l2_only);
  if (!t.sides || m.groups.partition.size() != 2 || !path.front().cache) return std::nullopt;
  const bool copies = m.caches[*path.front().cache].partitions.mode == PartitionMode::near_copy;
  const auto takes = [&](bool near, bool from_memory) {
    if (from_memory) return near ? path.back().latency_cycles : path.back().far_latency_cycles;
    if (w.kernel == "l2_chase_add") return atomic_cycles_at_home + (near ? 0 : t.sides->far_cycles);
    return near || copies ? path.front().latency_cycles : path.front().far_latency_cycles;
  };
  double cycles = 0;
  for (std::size_t sm = 0; sm < m.gpu.sm_count; ++sm)
    for (std::size_t i = 0; i < w.input[2 * sm + 1]; ++i) {
      const bool near = side_of(m, static_cast<std::uint32_t>(sm)) == home_of(w.input[w.input[2 * sm] + i]);
      cycles += takes(near, cold) + (of(w.numbers[0]) - 1) * takes(near, false);
    }
  return cycles / m.gpu.sm_count;
}

std::optional<double> work_cycles(const Model& m, const ThroughputModel& t, const Workload& w, WorkloadTrace& trace) {
  if (w.kernel.starts_with("chain_")) return chain(t, w, trace);
  if (w.kernel == "barriers" && t.control)
    return of(w.numbers[0]) * barriers_in_a_round *
           (t.control->barrier_cycles + t.control->barrier_warp_cycles * w.threads / program::warp_lanes);
  if (w.kernel == "paths") return cycles_of_paths(t, w);
  if (w.kernel == "clocks") return clocks(t, trace);
  if (w.kernel.starts_with("hold_")) return hold(t, w, trace);
  if (w.kernel.starts_with("cluster_places_")) return cluster_places(m, t, w, trace);
  if (w.kernel.starts_with("cluster_")) return cluster(t, w, trace);
  if (w.kernel == "l2_add") return additions(t, w);
  if (w.kernel.starts_with("l2_")) return sides(m, t, w, trace);
  return std::nullopt;
}

}  // namespace gputopo::sim
