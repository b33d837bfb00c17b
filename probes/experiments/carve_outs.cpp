#include "experiments/carve_outs.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "experiments/estimates.hpp"
#include "experiments/residency.hpp"
#include "experiments/samples.hpp"

namespace gputopo::experiments {
namespace {

using program::Record;
using program::Walk;

constexpr std::uint64_t step_bytes = 1024;  // carve-outs are whole KiB on every GPU documented so far

// What to ask for so that a block has `bytes` of shared memory in all; 0 where it has as much anyhow.
std::uint64_t request_for(const device::DeviceInfo& info, std::uint64_t bytes) {
  const std::uint64_t overhead = info.shared_reserved_per_block + info.shared_recorder_bytes;
  return bytes > overhead ? bytes - overhead : 0;
}

class CarveOutSearch {
 public:
  CarveOutSearch(Session& session, const CachePath& path, const SmCache& l1, std::uint64_t line_bytes)
      : session_(session), path_(path), l1_(l1), line_bytes_(line_bytes) {}

  // Largest shared memory, in steps, that a block may have in all.
  std::uint64_t last_step() const { return session_.info().shared_bytes_per_block / step_bytes; }

  // Resident lines while a block has `steps` KiB of shared memory, its own bookkeeping included.
  Expected<std::uint64_t> lines(std::uint64_t steps) {
    if (const auto known = lines_.find(steps); known != lines_.end()) return known->second;
    program::Program p =
        make_program(fmt::format("{} with {} KiB shared", path_.id, steps), session_.info(), path_.slot);
    if (const std::uint64_t bytes = request_for(session_.info(), steps * step_bytes); bytes != 0)
      p.buffers.push_back({program::Space::shared, bytes, 0});
    const Walk fill = make_walk(path_, l1_.capacity_bytes * 9 / 8, line_bytes_, 1);
    Walk probe = recorded(fill, Record::histogram, 1);
    probe.path = program::Path::global_no_allocate;
    p.phases = {fill, probe};
    // Disturbances only hide lines: the best of three SMs.
    auto traces = session_.run(program::Batch(3, p));
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::uint64_t most = 0;
    for (const auto& trace : *traces) {
      const auto& histogram = trace.phases.back().histogram;
      most = std::max(most, total(histogram) - count_from(histogram, l1_.threshold_cycles));
      samples_ += total(histogram);
    }
    return lines_[steps] = most;
  }

  // The largest number of steps in [low, high] with as many lines as at `low`.
  Expected<std::uint64_t> last_with_same(std::uint64_t low, std::uint64_t high) {
    auto wanted = lines(low);
    if (!wanted) return wanted;
    while (low < high) {
      const std::uint64_t middle = (low + high + 1) / 2;
      auto found = lines(middle);
      if (!found) return found;
      if (same(*found, *wanted)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  // Disturbances hide a few lines; carve-outs differ by 8 KiB at least.
  bool same(std::uint64_t a, std::uint64_t b) const {
    const std::uint64_t tolerance = 4096 / line_bytes_;
    return a + tolerance >= b && b + tolerance >= a;
  }
  std::uint64_t samples() const { return samples_; }

 private:
  Session& session_;
  const CachePath& path_;
  const SmCache& l1_;
  std::uint64_t line_bytes_;
  std::map<std::uint64_t, std::uint64_t> lines_;
  std::uint64_t samples_ = 0;
};

Estimate exact(double bytes, std::string_view method, std::uint64_t samples) {
  Estimate e = measured(bytes, "B", method, samples);
  e.interval = Interval{bytes, bytes};
  e.confidence = 0.99;
  return e;
}

// The request that a row's carve-out follows from.
std::uint64_t request_of(const Session& session, const CarveOut& row) {
  const auto in_all =
      std::min(static_cast<std::uint64_t>(*row.shared_bytes.value), session.info().shared_bytes_per_block);
  return request_for(session.info(), in_all);
}

constexpr double few_sectors = 16;

}  // namespace

Expected<std::vector<CarveOut>> measure_carve_outs(Session& session, const CachePath& path, const SmCache& l1) {
  std::vector<CarveOut> table;
  const Estimate* line = l1.memory.find("line_size");
  if (!session.info().has_no_allocate || l1.capacity_bytes == 0 || line == nullptr || !line->has_value()) return table;
  const auto line_bytes = static_cast<std::uint64_t>(*line->value);
  CarveOutSearch search(session, path, l1, line_bytes);
  const std::uint64_t last = search.last_step();
  std::uint64_t begin = 0;
  while (begin <= last) {
    auto end = search.last_with_same(begin, last);
    if (!end) return tl::unexpected<Error>(end.error());
    auto lines = search.lines(begin);
    if (!lines) return tl::unexpected<Error>(lines.error());
    CarveOut row;
    // The block limit may be smaller than the largest carve-out: the last step is only known to the SM's limit.
    std::uint64_t bytes = *end == last ? session.info().shared_bytes_per_sm : *end * step_bytes;
    // Blocks that ask for nothing fit here and no others: room for their bookkeeping alone is no carve-out.
    if (request_for(session.info(), bytes) == 0) bytes = 0;
    row.requested_percent =
        session.info().shared_bytes_per_sm == 0 ? 0 : bytes * 100 / session.info().shared_bytes_per_sm;
    row.shared_bytes = exact(static_cast<double>(bytes), *end == last ? "driver" : "allocation", search.samples());
    if (*end == last) row.shared_bytes.status = Status::api;
    row.usable_bytes = exact(static_cast<double>(*lines * line_bytes), "line_residency", search.samples());
    table.push_back(row);
    begin = *end + 1;
  }
  if (table.size() < 2) return std::vector<CarveOut>();
  return recount_carve_outs(session, path, l1, table);
}

Expected<std::vector<CarveOut>> recount_carve_outs(Session& session, const CachePath& path, const SmCache& cache,
                                                   const std::vector<CarveOut>& table) {
  std::vector<CarveOut> counted = table;
  const Estimate* sector = cache.memory.find("sector_size");
  if (sector == nullptr || !sector->has_value()) return counted;
  const auto sector_bytes = static_cast<std::uint64_t>(*sector->value);
  for (CarveOut& row : counted) {
    const auto about = static_cast<std::uint64_t>(*row.usable_bytes.value);
    auto usable =
        measure_residency(session, path, about, sector_bytes, cache.threshold_cycles, request_of(session, row));
    if (!usable) return tl::unexpected<Error>(usable.error());
    if (*usable) row.usable_bytes = **usable;
  }
  // The whole array: nominal sizes are multiples of 32 KiB (CUDA C++ Programming Guide, table of compute capabilities).
  constexpr double nominal_unit = 32768;
  const double sum = *counted.front().shared_bytes.value + *counted.front().usable_bytes.value;
  const double array = std::ceil(sum / nominal_unit) * nominal_unit;
  // What the hardware keeps for itself is the same at every carve-out: where a few sectors are missing, slow loads may
  // have hidden them from all counts.
  double most = 0;
  for (const CarveOut& row : counted) most = std::max(most, *row.shared_bytes.value + *row.usable_bytes.value);
  for (CarveOut& row : counted) {
    const double missing = most - *row.shared_bytes.value - *row.usable_bytes.value;
    if (missing <= 0 || missing > few_sectors * static_cast<double>(sector_bytes)) continue;
    auto again = count_residency_carefully(session, path, static_cast<std::uint64_t>(*row.usable_bytes.value),
                                           sector_bytes, cache.threshold_cycles, request_of(session, row));
    if (!again) return tl::unexpected<Error>(again.error());
    if (*again > *row.usable_bytes.value && *again <= *row.usable_bytes.value + missing)
      row.usable_bytes.value = *again;
    row.usable_bytes.interval->high = std::max(row.usable_bytes.interval->high, *row.usable_bytes.value);
  }
  for (CarveOut& row : counted) {
    row.reserved_bytes =
        exact(array - *row.shared_bytes.value - *row.usable_bytes.value, "difference", row.usable_bytes.samples);
    row.reserved_bytes.note = fmt::format("of an array of {:.0f} KiB", array / 1024);
  }
  return counted;
}

}  // namespace gputopo::experiments
