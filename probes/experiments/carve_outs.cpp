// Unified L1 caches: how much of the array is left to the cache at each shared-memory carve-out.
//
// A block that needs more shared memory gets a larger carve-out, so the carve-out in force is found exactly: it is the
// most shared memory a block can have before the resident L1 shrinks. What is missing to the whole array (where that is
// published) at every step is kept by the hardware. That explains the 6 to 8 KiB by which measured L1 sizes fall short
// of the nominal ones from Volta on (Größler 2022, section 5.3): a fixed reservation, not replacement.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "catalog/limits.hpp"
#include "evidence/inference/curves.hpp"
#include "evidence/inference/estimates.hpp"
#include "evidence/looks/residency.hpp"
#include "experiments/experiments.hpp"

namespace gputopo::experiments {
namespace {

using namespace evidence;
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
  CarveOutSearch(Session& session, const CacheFacts& l1) : session_(session), l1_(l1) {}

  // Largest shared memory, in steps, that a block may have in all.
  std::uint64_t last_step() const { return session_.info().shared_bytes_per_block / step_bytes; }

  // Resident lines while a block has `steps` KiB of shared memory, its own bookkeeping included.
  Expected<std::uint64_t> lines(std::uint64_t steps) {
    if (const auto known = lines_.find(steps); known != lines_.end()) return known->second;
    program::Program p = make_program(fmt::format("l1 with {} KiB shared", steps), session_.info(), l1_.path.slot);
    if (const std::uint64_t bytes = request_for(session_.info(), steps * step_bytes); bytes != 0)
      p.buffers.push_back({program::Space::shared, bytes, 0});
    const Walk fill = make_walk(l1_.path, l1_.capacity_bytes * 9 / 8, l1_.stride(), 1);
    Walk look = recorded(fill, Record::histogram, 1);
    look.path = program::Path::global_no_allocate;
    // By a warp: of several loads at once some push out what hasn't arrived yet, a few lines in thousands.
    p.phases = {by_one_warp(fill), look};
    // Strangers only hide lines: the best of three SMs.
    auto traces = session_.run(program::Batch(3, p));
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::uint64_t most = 0;
    for (const auto& trace : *traces) {
      const auto& histogram = trace.phases.back().histogram;
      most = std::max(most, total(histogram) - count_from(histogram, l1_.levels.threshold_cycles));
      samples_ += total(histogram);
    }
    return lines_[steps] = most;
  }

  // The last steps of all carve-outs but the last one that begin in [low, high], appended in order. As many lines at
  // both ends are one carve-out: the array only ever loses lines to shared memory.
  Expected<void> find_ends(std::uint64_t low, std::uint64_t high, std::vector<std::uint64_t>& ends) {
    const auto at_low = lines(low), at_high = lines(high);
    if (!at_low) return tl::unexpected<Error>(at_low.error());
    if (!at_high) return tl::unexpected<Error>(at_high.error());
    if (same(*at_low, *at_high)) return {};
    if (high - low == 1) {
      ends.push_back(low);
      return {};
    }
    const std::uint64_t middle = (low + high) / 2;
    if (auto ok = find_ends(low, middle, ends); !ok) return ok;
    return find_ends(middle, high, ends);
  }

  std::uint64_t samples() const { return samples_; }

  // What is resident over what a block has of shared memory.
  Series resident() const {
    Series series{"resident after a walk", {}};
    for (const auto& [steps, lines] : lines_) series.points.emplace_back(steps * step_bytes, lines * l1_.stride());
    return series;
  }

 private:
  // Carve-outs are 8 KiB apart at least (CUDA C++ Programming Guide); counts of one carve-out differ by the sectors
  // that strangers hide, the false misses' share of them.
  bool same(std::uint64_t a, std::uint64_t b) const {
    const double apart = std::fabs(static_cast<double>(a) - static_cast<double>(b));
    const double strangers = l1_.levels.false_miss * static_cast<double>(std::max(a, b));
    return apart * static_cast<double>(l1_.stride()) <= 4096 + strangers;
  }

  Session& session_;
  const CacheFacts& l1_;
  std::map<std::uint64_t, std::uint64_t> lines_;
  std::uint64_t samples_ = 0;
};

Estimate exact(double bytes, std::string_view method, std::uint64_t samples) {
  Estimate e = measured(bytes, "B", method, samples);
  e.interval = Interval{bytes, bytes};
  return e;
}

Expected<std::vector<CarveOut>> search_carve_outs(Session& session, const CacheFacts& l1, Series& resident) {
  std::vector<CarveOut> table;
  CarveOutSearch search(session, l1);
  const std::uint64_t last = search.last_step();
  std::vector<std::uint64_t> ends;
  if (auto ok = search.find_ends(0, last, ends); !ok) return tl::unexpected<Error>(ok.error());
  ends.push_back(last);
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends) {
    auto lines = search.lines(std::exchange(begin, end + 1));
    if (!lines) return tl::unexpected<Error>(lines.error());
    CarveOut row;
    // The block limit may be smaller than the largest carve-out: the last step is only known to the SM's limit.
    std::uint64_t bytes = end == last ? session.info().shared_bytes_per_sm : end * step_bytes;
    // Blocks that ask for nothing fit here and no others: room for their bookkeeping alone is no carve-out.
    if (request_for(session.info(), bytes) == 0) bytes = 0;
    row.requested_percent =
        session.info().shared_bytes_per_sm == 0 ? 0 : bytes * 100 / session.info().shared_bytes_per_sm;
    row.shared_bytes = exact(static_cast<double>(bytes), end == last ? "driver" : "allocation", search.samples());
    if (end == last) row.shared_bytes.status = Status::api;
    row.usable_bytes = exact(static_cast<double>(*lines * l1.stride()), "line_residency", search.samples());
    table.push_back(row);
  }
  resident = search.resident();
  return table;
}

// With what was counted at each carve-out.
void keep_curve(Session& session, std::string_view memory, const Series& resident, const std::vector<CarveOut>& table) {
  DecidingCurve curve =
      make_curve(memory, "carve_outs", {"shared memory of a block", "B", false}, {"left to the cache", "B", false});
  Series counted{"counted at each carve-out", {}};
  for (const CarveOut& row : table)
    if (row.usable_bytes.has_value()) counted.points.emplace_back(*row.shared_bytes.value, *row.usable_bytes.value);
  curve.series = {resident, std::move(counted)};
  session.keep(std::move(curve));
}

// What the whole array holds beyond both. Nothing measured tells its end, so it is known only where it is published.
Estimate reserved_at(const device::DeviceInfo& info, const CarveOut& row) {
  constexpr std::string_view method = "difference";
  if (!row.usable_bytes.has_value()) return inconclusive("B", method, "needs what is usable");
  const double both = *row.shared_bytes.value + *row.usable_bytes.value;
  const auto array = static_cast<double>(catalog::published_unified_bytes(info.gpu.compute_capability, info.shared_bytes_per_sm));
  if (array == 0)
    return inconclusive("B", method,
                        fmt::format("both make up {:.0f} B; what the array has beyond that nothing shows", both));
  if (both > array)
    return inconclusive("B", method, fmt::format("both make up {:.0f} B, more than the array is published with", both));
  Estimate e = exact(array - both, method, row.usable_bytes.samples);
  e.note = fmt::format("of the {:.0f} KiB that NVIDIA publishes for compute capability {}", array / 1024,
                       info.gpu.compute_capability);
  return e;
}

// Usable and reserved bytes counted through a path of the same physical cache, sector by sector.
Expected<std::vector<CarveOut>> counted_carve_out(Session& session, const CacheFacts& cache,
                                                  std::vector<CarveOut> table) {
  for (CarveOut& row : table) {
    const auto in_all =
        std::min(static_cast<std::uint64_t>(*row.shared_bytes.value), session.info().shared_bytes_per_block);
    auto resident = count_resident(session, cache, static_cast<std::uint64_t>(*row.usable_bytes.value),
                                   request_for(session.info(), in_all));
    if (!resident) return tl::unexpected<Error>(resident.error());
    if (!resident->is_steady()) {
      row.usable_bytes = inconclusive("B", "residency", "what is resident differs with the footprint");
      continue;
    }
    row.usable_bytes = exact(static_cast<double>(resident->held_bytes), "residency", resident->samples);
  }
  for (CarveOut& row : table) row.reserved_bytes = reserved_at(session.info(), row);
  return table;
}

}  // namespace

Expected<void> measure_carve_outs(Session& session, Findings& findings) {
  const CacheFacts* l1 = findings.cache("l1");
  if (l1 == nullptr || !l1->can_be_filled() || !session.info().has_no_allocate || l1->line_bytes == 0) return {};
  Series resident;
  auto table = search_carve_outs(session, *l1, resident);
  if (!table) return tl::unexpected<Error>(table.error());
  if (table->size() < 2) return {};  // the L1 doesn't follow the carve-out
  auto by_l1 = counted_carve_out(session, *l1, *table);
  if (!by_l1) return tl::unexpected<Error>(by_l1.error());
  // What is resident by chance (random replacement) shrinks now and then by itself, and that is no carve-out.
  if (!by_l1->front().usable_bytes.has_value()) return {};
  findings.memory("l1").carve_outs = *by_l1;
  keep_curve(session, "l1", resident, *by_l1);
  const CacheFacts* read_only = findings.cache("read_only");
  if (read_only == nullptr || !read_only->can_be_filled() || findings.memory("read_only").physical_cache != "l1")
    return {};
  // One cache with the L1: counted once more where there is time for it, and where looks past the L1 see its lines.
  auto by_read_only = session.settings().deep ? counted_carve_out(session, *read_only, *table) : by_l1;
  if (!by_read_only) return tl::unexpected<Error>(by_read_only.error());
  const bool is_counted = session.settings().deep && by_read_only->front().usable_bytes.has_value();
  if (!is_counted) by_read_only = by_l1;
  if (!is_counted)
    for (CarveOut& row : *by_read_only) row.usable_bytes.note = "as l1, which is the same cache";
  findings.memory("read_only").carve_outs = *by_read_only;
  keep_curve(session, "read_only", {}, *by_read_only);
  return {};
}

}  // namespace gputopo::experiments
