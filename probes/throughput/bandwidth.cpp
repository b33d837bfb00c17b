// The bandwidth of every level: the best of many configurations, beside what clock and width allow.
#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "throughput/benchmarks.hpp"
#include "throughput/byte_counts.hpp"
#include "throughput/limits.hpp"
#include "throughput/search.hpp"

namespace gputopo::throughput {
namespace {

using program::Operation;
using program::Path;
using program::Region;
using program::Stream;

// A run is long enough for clocks, and short beside a slice of 2 ms: 50 to 100 us on an H200.
constexpr double bytes_of_an_sm = 10e6;
constexpr double bytes_of_l2 = 500e6;
constexpr std::uint32_t l2_width = 8;  // narrower reads fill no L2's ports
constexpr double bytes_in_turn = 2e9;  // 220 us: a warp's turn is a twentieth of its part or less
constexpr std::uint64_t least_memory_bytes = std::uint64_t{512} << 20;
constexpr std::uint64_t times_l2 = 128, brief_times_l2 = 32;  // of which it keeps 1 % or 3 % at most
constexpr std::uint64_t constant_bank_bytes = 65536;

constexpr std::size_t finalists_alone = 5;
// SMs that read the same bytes are served together as long as they happen to be at the same ones, so that a run may
// differ from the next by a third. And by where its lines lie an L2 serves any two dozen configurations as fast to 2 %:
// which of five is the fastest differs from process to process, and how fast by as much.
constexpr std::size_t finalists_of_l2 = 12;
constexpr int places_in_l2 = 5;

struct Target {
  std::string memory;
  std::string quantity;
  Rate rate = Rate::bytes_per_sm_cycle;
  std::vector<Stream> candidates;
  bool of_same_bytes = false;
  bool of_l2() const { return memory == "l2"; }
  std::size_t finalists() const { return of_l2() ? finalists_of_l2 : finalists_alone; }
};

Stream bandwidth_base(Path path, Operation operation, Region region) {
  Stream s;
  s.path = path;
  s.operation = operation;
  s.region = region;
  return s;
}

// All of them, or one.
std::vector<std::uint64_t> footprints_for(const Setting& setting, std::vector<std::uint64_t> surest_first) {
  if (setting.effort == Effort::brief) surest_first.resize(1);
  return surest_first;
}

void add(std::vector<Target>& targets, std::string memory, std::string quantity, Rate rate,
         std::vector<Stream> candidates) {
  for (Stream& s : candidates) s.label = memory + " " + quantity;
  targets.push_back({std::move(memory), std::move(quantity), rate, std::move(candidates)});
}

// Caches of an SM: parts of what they hold, walked again and again.
void add_private(const Setting& setting, std::vector<Target>& targets) {
  const std::uint32_t sms = setting.meter.info().gpu.sm_count;
  const double bytes = bytes_of_an_sm * sms;
  for (const auto& [memory, path] : {std::pair{"l1", Path::global_cached}, std::pair{"texture", Path::texture}}) {
    const std::uint64_t size = setting.size_of(memory);
    if (size == 0) continue;
    add(targets, memory, "read_bandwidth", Rate::bytes_per_sm_cycle,
        candidates_of({bandwidth_base(path, Operation::read, Region::block),
                       footprints_for(setting, {size / 2, size / 4, size * 3 / 4}), 4, bytes},
                      sms));
  }
  const std::uint64_t l1 = setting.size_of("constant_l1");
  const std::uint64_t behind = std::min(setting.size_of("constant_l1_5"), constant_bank_bytes);
  const Stream broadcast = bandwidth_base(Path::constant, Operation::read, Region::all);
  if (l1 != 0)
    add(targets, "constant_l1", "read_bandwidth", Rate::bytes_per_sm_cycle,
        candidates_of({broadcast, footprints_for(setting, {l1 / 2, l1 / 4}), 4, bytes / 16, true}, sms));
  if (l1 != 0 && behind >= 2 * l1)
    add(targets, "constant_l1_5", "read_bandwidth", Rate::bytes_per_sm_cycle,
        candidates_of({broadcast, footprints_for(setting, {behind / 2, behind * 3 / 4}), 4, bytes / 32, true}, sms));
}

void add_shared(const Setting& setting, std::vector<Target>& targets) {
  const device::DeviceInfo& info = setting.meter.info();
  if (info.shared_bytes_per_block == 0) return;
  for (const auto& [operation, quantity] :
       {std::pair{Operation::read, "read_bandwidth"}, std::pair{Operation::write, "write_bandwidth"},
        std::pair{Operation::copy, "copy_bandwidth"}}) {
    Stream s = bandwidth_base(Path::shared, operation, Region::block);
    s.carve_out_percent = 100;
    const std::uint64_t room = std::min(info.shared_bytes_per_block, info.shared_bytes_per_sm / 4);
    add(targets, "shared", quantity, Rate::bytes_per_sm_cycle,
        candidates_of({s, footprints_for(setting, {info.shared_bytes_per_block, room, room / 4}), 4,
                       bytes_of_an_sm * info.gpu.sm_count},
                      info.gpu.sm_count));
  }
}

// Each byte by one SM: neighbouring warps on neighbouring bytes, or each block its own, of `footprints` in all. SMs
// aren't equally fast, by where they lie, so they take laps in turn: else the slowest one's time is measured.
std::vector<Stream> reads_once(std::uint32_t sms, const std::vector<std::uint64_t>& footprints) {
  std::vector<Stream> reads;
  for (const Region region : {Region::grid, Region::block}) {
    Stream base = bandwidth_base(Path::global_l2_only, Operation::read, region);
    base.in_turn = true;
    std::vector<std::uint64_t> own = footprints;
    if (region == Region::block)
      for (std::uint64_t& bytes : own) bytes /= sms;
    for (Stream& s : candidates_of({base, std::move(own), l2_width, bytes_in_turn}, sms)) reads.push_back(std::move(s));
  }
  return reads;
}

// All SMs the same bytes, where each pleases or all at about the same ones, whose requests are one by then. So many
// bytes for each take few threads long.
std::vector<Stream> reads_of_all(std::uint32_t sms, const std::vector<std::uint64_t>& footprints) {
  constexpr std::uint32_t many_threads = 512;  // of an SM
  std::vector<Stream> reads;
  for (const Region region : {Region::all, Region::together})
    for (Stream& s : candidates_of(
             {bandwidth_base(Path::global_l2_only, Operation::read, region), footprints, l2_width, bytes_of_l2}, sms))
      if (s.threads * s.blocks >= many_threads * sms) reads.push_back(std::move(s));
  return reads;
}

void add_l2(const Setting& setting, std::vector<Target>& targets) {
  const std::uint64_t size = setting.size_of("l2");
  const std::uint32_t sms = setting.meter.info().gpu.sm_count;
  if (size == 0) return;
  const auto of = [&](Path path, Operation operation, std::vector<std::uint64_t> footprints) {
    return candidates_of(
        {bandwidth_base(path, operation, Region::grid), footprints_for(setting, std::move(footprints)), 4, bytes_of_l2},
        sms);
  };
  auto reads = reads_once(sms, footprints_for(setting, {size / 4, size / 2, size * 3 / 4}));
  std::erase_if(reads,
                [&](const Stream& s) { return s.region == Region::block && program::buffer_bytes(s) > size / 2; });
  add(targets, "l2", "read_bandwidth", Rate::bytes_per_second, std::move(reads));
  add(targets, "l2", "shared_read_bandwidth", Rate::bytes_per_second,
      reads_of_all(sms, footprints_for(setting, {size / 16, size / 4, size / 2})));
  targets.back().of_same_bytes = true;
  add(targets, "l2", "write_bandwidth", Rate::bytes_per_second,
      of(Path::global_cached, Operation::write, {size / 4, size / 2}));
  add(targets, "l2", "copy_bandwidth", Rate::bytes_per_second,
      of(Path::global_l2_only, Operation::copy, {size / 8, size / 4}));
}

void add_memory(const Setting& setting, std::vector<Target>& targets) {
  const device::DeviceInfo& info = setting.meter.info();
  const bool is_brief = setting.effort == Effort::brief;
  const std::uint64_t footprint =
      std::min(std::max(least_memory_bytes, (is_brief ? brief_times_l2 : times_l2) * setting.size_of("l2")),
               info.largest_buffer_bytes / 4);
  if (footprint <= 2 * setting.size_of("l2")) return;
  for (const auto& [operation, quantity] :
       {std::pair{Operation::read, "read_bandwidth"}, std::pair{Operation::write, "write_bandwidth"},
        std::pair{Operation::copy, "copy_bandwidth"}}) {
    const Stream s = bandwidth_base(Path::global_cached, operation, Region::grid);
    // A copy's two buffers.
    const std::uint64_t bytes = is_brief && operation == Operation::copy ? footprint / 2 : footprint;
    auto candidates = candidates_of({s, {bytes}, 4, 0}, info.gpu.sm_count);
    for (Stream& other : operation == Operation::read ? bulk_copies(s, bytes, info.gpu.sm_count)
                                                      : one_shots(s, bytes, is_brief ? 1 : laps_of_one_shots))
      candidates.push_back(std::move(other));
    add(targets, "device_memory", quantity, Rate::bytes_per_second, std::move(candidates));
  }
}

// By the copy engine, as programs do it: a few sizes and several in a row, since what lies before the first and after
// the last one costs as much as 600 KB.
void add_host_link(const Setting& setting, std::vector<Target>& targets) {
  constexpr std::uint64_t mebi = 1 << 20;
  const bool is_brief = setting.effort == Effort::brief;
  const std::vector<std::uint64_t> sizes = is_brief ? std::vector{8 * mebi} : std::vector{32 * mebi, 128 * mebi};
  const std::uint32_t in_a_row = is_brief ? 4 : 6;
  for (const auto& [operation, quantity] :
       {std::pair{Operation::upload, "to_device_bandwidth"}, std::pair{Operation::download, "to_host_bandwidth"}}) {
    std::vector<Stream> candidates;
    for (const std::uint64_t bytes : sizes) {
      if (bytes > setting.meter.info().largest_buffer_bytes) continue;
      Stream s = bandwidth_base(Path::global_cached, operation, Region::grid);
      s.one_shot = true;
      s.access_bytes = 16;
      s.threads = 512;
      s.blocks = static_cast<std::uint32_t>(bytes / (std::uint64_t{s.threads} * s.access_bytes));
      s.footprint_bytes = program::step_bytes(s);
      s.laps = in_a_row;
      candidates.push_back(std::move(s));
    }
    add(targets, "host_link", quantity, Rate::bytes_per_second, std::move(candidates));
  }
}

// Of a brief search's best the mean of its three runs less what these may be off: 0.885 of their range, below which the
// mean of all runs would lie one time in twenty (Lord 1947, of normal numbers).
// Of a full one's what half of its runs reached: where that hangs on who happens to be at the same bytes, others may
// reach more.
Estimate reached_by(const Sample& sample, std::string_view unit, Effort effort, bool of_same_bytes) {
  Estimate e = estimate_of(sample, unit, effort == Effort::brief ? "brief_search" : "search");
  if (effort == Effort::brief) {
    static_assert(runs_in_brief == 3);
    constexpr double lord = 0.885;
    const auto& [low, high] = sample.range;
    const double least = (low + sample.median + high) / runs_in_brief - lord * (high - low);
    e.interval.reset();
    e.interval_kind = interval_kinds.front();
    if (least > 0) {
      e.status = Status::lower_bound;
      e.value = least;
    } else {
      e.status = Status::inconclusive;
      e.value.reset();
      e.note = "its runs differ by more than they reached";
    }
  } else if (of_same_bytes) {
    e.status = Status::lower_bound;
    e.interval.reset();
    e.interval_kind = interval_kinds.front();
  }
  return e;
}

Expected<void> measure(const Setting& setting, const Target& target, const std::optional<Banks>& banks,
                       std::vector<Reached>& reached, Result& result) {
  std::string why;
  const auto best = search_best(setting.meter, target.candidates, target.rate, why, setting.effort, target.finalists());
  if (!best) return tl::unexpected<Error>(best.error());
  if (!*best) {
    result.notes.push_back(
        fmt::format("{} {}: {}", target.memory, target.quantity, why.empty() ? "no configuration fits this GPU" : why));
    return {};
  }
  Expected<Sample> sample = (*best)->sample;
  if (target.of_l2() && !target.of_same_bytes && setting.effort == Effort::full)
    sample = over_places(setting.meter, **best, target.rate, places_in_l2);
  if (!sample) return tl::unexpected<Error>(sample.error());
  const device::DeviceInfo& info = setting.meter.info();
  reached.push_back({result.findings.size(), (*best)->stream});
  add_bounded({target.memory,
               target.quantity,
               reached_by(*sample, unit_of(target.rate), setting.effort, target.of_same_bytes),
               configuration_of((*best)->stream, info.gpu.sm_count),
               limit_of(target.memory, info, banks),
               {},
               std::move((*best)->by_bytes)},
              result);
  return {};
}

// Those of the configurations that reach the most somewhere: which one it is changes with the footprint.
std::vector<Stream> l2_readers(bool same, std::uint64_t footprint, std::uint32_t sms) {
  auto readers = same ? reads_of_all(sms, {footprint}) : reads_once(sms, {footprint});
  std::erase_if(readers, [&](const Stream& s) {
    const std::uint64_t on_sm = std::uint64_t{s.threads} * s.blocks / sms;
    return on_sm < 1024 || s.unroll == 1 || s.unroll > 8 || program::buffer_bytes(s) < footprint / 8 * 7;
  });
  for (Stream& s : readers) s.label = "l2 by footprint";
  return readers;
}

// Footprints of which each SM's part is a whole number of steps: a power of two for each SM, a twelfth of the L2 at
// most, and multiples of it to twice the L2.
std::vector<std::uint64_t> l2_footprints(std::uint64_t size, std::uint32_t sms) {
  const std::uint64_t first = std::bit_floor(std::max<std::uint64_t>(size / 12 / sms, 1024)) * sms;
  std::vector<std::uint64_t> footprints;
  for (std::uint64_t f = first; f <= 2 * size; f += f < size ? first : f / 3 / first * first + first)
    footprints.push_back(f);
  return footprints;
}

// Reading by footprint: where the L2 ends, and what it gives before. Each byte by one SM: by neighbouring warps, or of
// each SM's own part.
Expected<void> plot_l2(const Setting& setting, Result& result) {
  const std::uint64_t size = setting.size_of("l2");
  if (size == 0) return {};
  const std::uint32_t sms = setting.meter.info().gpu.sm_count;
  Plot plot{"L2 read by footprint", "footprint (MiB)", "GB/s", true, {}};
  for (const bool same : {false, true}) {
    Series series{same ? "all SMs the same bytes" : "each byte by one SM", {}};
    for (const std::uint64_t footprint : l2_footprints(size, sms)) {
      const auto readers = l2_readers(same, footprint, sms);
      std::string why;
      const auto best = search_best(setting.meter, readers, Rate::bytes_per_second, why, Effort::full,
                                    same ? finalists_of_l2 : finalists_alone);
      if (!best) return tl::unexpected<Error>(best.error());
      if (!*best) continue;
      const program::Stream& stream = (*best)->stream;
      const Sample& sample = (*best)->sample;
      series.points.push_back({static_cast<double>(program::buffer_bytes(stream)) / 0x1p20,
                               sample.median / 1e9,
                               {sample.range.low / 1e9, sample.range.high / 1e9}});
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  if (!plot.series.empty()) result.plots.push_back(std::move(plot));
  return {};
}

}  // namespace

Expected<void> measure_bandwidth(const Setting& setting, Result& result) {
  std::vector<Target> targets;
  add_private(setting, targets);
  add_shared(setting, targets);
  add_l2(setting, targets);
  add_memory(setting, targets);
  add_host_link(setting, targets);
  std::erase_if(targets, [&](const Target& t) { return !setting.wants(t.memory); });
  std::optional<Banks> banks;
  const bool needs_banks = setting.wants("shared") && setting.effort == Effort::full;
  if (auto found = needs_banks ? find_banks(setting.meter) : std::optional<Banks>{}; found)
    banks = *found;
  else if (!leaves_open(found.error()))
    return tl::unexpected<Error>(found.error());
  std::vector<Reached> reached;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    setting.progress(static_cast<double>(i) / static_cast<double>(targets.size() + 1));
    if (auto ok = measure(setting, targets[i], banks, reached, result); !ok) return ok;
  }
  if (auto ok = setting.plots && setting.wants("l2") ? plot_l2(setting, result) : Expected<void>{}; !ok) return ok;
  return count_bytes(setting, reached, result);
}

}  // namespace gputopo::throughput
