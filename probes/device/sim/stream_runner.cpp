#include "device/sim/stream_runner.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "device/device.hpp"
#include "device/sim/random.hpp"

namespace gputopo::sim {
namespace {

using program::Operation;
using program::Path;
using program::Region;
using program::Stream;

constexpr std::uint64_t threads_of_an_sm = 2048;  // where the compute capability doesn't say

tl::unexpected<Error> lacks_throughput(const Stream& s, std::string_view what) {
  return fail(Error::Kind::unavailable, fmt::format("stream '{}': no throughput of {} in this model; add it to "
                                                    "/throughput (docs/models.md)",
                                                    s.label, what));
}

double rate_of(const LevelThroughput& t, const Stream& s) {
  if (s.operation == Operation::write) return t.write;
  if (s.operation == Operation::copy) return t.copy;
  return program::is_of_all(s.region) && t.read_same > 0 ? t.read_same : t.read;
}

// How the work lies on the GPU.
struct Load {
  double accesses;         ///< of warps, all
  double accesses_of_sm;   ///< on the busiest SM
  double bytes_of_access;  ///< of a warp
  double resident_warps;   ///< on one SM at once
};

Load load_of(const Model& m, const Stream& s) {
  const std::uint64_t on_sm = (s.blocks + m.gpu.sm_count - 1) / m.gpu.sm_count;
  const std::uint64_t room = m.gpu.limits.threads_per_sm != 0 ? m.gpu.limits.threads_per_sm : threads_of_an_sm;
  const std::uint64_t resident = std::max<std::uint64_t>(1, std::min<std::uint64_t>(on_sm, room / s.threads));
  Load load{};
  load.accesses = static_cast<double>(program::counted_accesses(s));
  load.accesses_of_sm = load.accesses / s.blocks * static_cast<double>(on_sm);
  load.bytes_of_access = static_cast<double>(program::warp_bytes(s));
  load.resident_warps = static_cast<double>(resident * s.threads / program::warp_lanes);
  return load;
}

double cycles_by_rate(const Model& m, const Served& served, const LevelThroughput& t, const Stream& s,
                      const Load& load) {
  const double rate = rate_of(t, s);
  if (served.id == "shared") return load.accesses_of_sm * shared_access_cycles(*m.throughput, s, rate);
  if (!served.beyond_sms) return load.accesses_of_sm * load.bytes_of_access / rate;
  const double ns = load.accesses * load.bytes_of_access / rate;  // 10^9 bytes a second are bytes a nanosecond
  return ns * static_cast<double>(m.gpu.clock_khz) / 1e6;
}

// Little's law: what is in flight arrives within a latency. Stores are sent off and forgotten.
double cycles_by_latency(const Served& served, const LevelThroughput& t, const Stream& s, const Load& load) {
  if (s.operation == Operation::write) return 0;
  const double reads = load.accesses_of_sm * load.bytes_of_access / (s.operation == Operation::copy ? 2 : 1);
  double in_flight = load.resident_warps * s.unroll * load.bytes_of_access;
  if (t.in_flight_bytes != 0) in_flight = std::min(in_flight, static_cast<double>(t.in_flight_bytes));
  return reads * served.latency_cycles / in_flight;
}

double excess_lines(const Model& m, const Served& served, const Stream& s, const Load& load) {
  const double limit = m.throughput->request_lines;
  if (limit <= 0 || (s.path != Path::global_cached && s.path != Path::global_l2_only)) return 1;
  const auto line = static_cast<double>(served.line_bytes);
  const double needed = std::ceil(load.bytes_of_access / line);
  return std::max(1.0, static_cast<double>(lines_touched(s, served.line_bytes)) / std::max(limit, needed));
}

Expected<double> transfer_cycles(const Model& m, const Stream& s) {
  const auto t = m.throughput->levels.find("host_link");
  const double rate = t == m.throughput->levels.end()    ? 0
                      : s.operation == Operation::upload ? t->second.read
                                                         : t->second.write;
  if (rate <= 0) return lacks_throughput(s, fmt::format("host_link ({})", program::to_string(s.operation)));
  return static_cast<double>(program::counted_bytes(s)) / rate * static_cast<double>(m.gpu.clock_khz) / 1e6;
}

Expected<double> stream_cycles(const Model& m, const Stream& s) {
  if (program::is_transfer(s.operation)) return transfer_cycles(m, s);
  const auto served = serve(m, s);
  if (!served) return tl::unexpected<Error>(served.error());
  const auto t = m.throughput->levels.find(served->id);
  if (t == m.throughput->levels.end() || rate_of(t->second, s) <= 0)
    return lacks_throughput(s, fmt::format("{} ({})", served->id, program::to_string(s.operation)));
  const Load load = load_of(m, s);
  double cycles =
      std::max(cycles_by_rate(m, *served, t->second, s, load), cycles_by_latency(*served, t->second, s, load));
  if (t->second.accesses > 0) cycles = std::max(cycles, load.accesses_of_sm / t->second.accesses);
  return cycles * excess_lines(m, *served, s, load);
}

Expected<double> addition_cycles(const Model& m, const Stream& s) {
  const bool fetches = s.operation == Operation::fetch_add;
  const auto kind = s.path == Path::shared ? (fetches ? AtomicKind::shared_fetch : AtomicKind::shared_add)
                                           : (fetches ? AtomicKind::global_fetch : AtomicKind::global_add);
  const auto index = static_cast<std::size_t>(kind);
  if (!m.throughput->has_atomics[index])
    return lacks_throughput(
        s, fmt::format("atomics on {} ({})", program::to_string(s.path), program::to_string(s.operation)));
  return atomic_cycles(m.throughput->atomics[index], s, m.gpu.sm_count);
}

}  // namespace

Expected<program::StreamTrace> run_stream(const Model& m, const Stream& s, std::uint64_t run) {
  if (!m.throughput)
    return fail(Error::Kind::unavailable, "no throughput in this model; add /throughput to it (docs/models.md)");
  if (s.arrangement == program::Arrangement::bulk && !device::has_copy_engine(m.gpu))
    return fail(Error::Kind::unavailable, fmt::format("stream '{}': this GPU's SMs have no copy engine", s.label));
  const bool adds = s.operation == Operation::fetch_add || s.operation == Operation::add;
  auto cycles = adds ? addition_cycles(m, s) : stream_cycles(m, s);
  if (!cycles) return tl::unexpected<Error>(cycles.error());
  Random random(m.noise.seed ^ mix(run));
  if (m.throughput->noise > 0) *cycles *= std::max(0.5, 1 + m.throughput->noise * random.normal());
  program::StreamTrace trace;
  trace.bytes = program::counted_bytes(s);
  trace.accesses = program::counted_accesses(s);
  if (!s.one_shot) trace.cycles = static_cast<std::uint64_t>(std::llround(*cycles));
  if (m.gpu.clock_khz != 0)
    trace.ns = static_cast<std::uint64_t>(std::llround(*cycles * 1e6 / static_cast<double>(m.gpu.clock_khz)));
  trace.sms = std::min(s.blocks, m.gpu.sm_count);
  return trace;
}

}  // namespace gputopo::sim
