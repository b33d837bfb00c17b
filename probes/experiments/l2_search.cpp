#include "experiments/l2_search.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gputopo::experiments {
namespace {

constexpr double no_limit = 1e9;
constexpr std::uint64_t mebi = 1 << 20;
constexpr std::uint64_t unit_bytes = 4096;

// All lanes warm, one thread samples: warm-up and recorded walk of one footprint.
program::Program row_program(const Session& session, std::uint64_t bytes, std::uint64_t stride_bytes,
                             std::uint32_t warm_laps, std::uint64_t sampled_loads, std::uint64_t sample_number) {
  program::Program p = make_program(fmt::format("l2 {} B", bytes), session.info(), slot_flush);
  p.isolation = Scope::gpu;
  p.buffers[slot_flush].size_bytes = std::max(bytes, slot_bytes);
  program::Walk warm = make_walk(l2_path, bytes, stride_bytes, warm_laps);
  program::Walk sample = recorded(warm, program::Record::histogram, 1);
  sample.order = program::Order::shuffled;
  sample.order_seed = session.options().seed + sample_number;
  sample.loads_per_lap = std::min(sampled_loads, program::positions(sample));
  warm.lanes = std::max<std::uint32_t>(1, session.info().warps_per_block * 32);
  p.phases = {warm, sample};
  return p;
}

Expected<std::vector<L2Row>> run_rows(Session& session, const program::Batch& batch,
                                      const std::vector<std::uint64_t>& footprints_bytes) {
  auto traces = session.run(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  std::vector<L2Row> rows;
  for (std::size_t i = 0; i < batch.size(); ++i)
    rows.push_back({footprints_bytes[i], (*traces)[i].phases.back().histogram});
  return rows;
}

}  // namespace

Expected<std::vector<L2Row>> l2_curve(Session& session, const std::vector<std::uint64_t>& footprints_bytes,
                                      std::uint64_t stride_bytes, std::uint32_t warm_laps, std::uint64_t sampled_loads,
                                      std::uint64_t sample_number) {
  program::Batch batch;
  // What earlier rows left behind lies there in an order of its own, and a cache that throws out what came first would
  // throw out some of this row's lines for it. Walking past the capacity in other memory first makes a clean start;
  // large L2s don't get the time for it.
  const std::uint64_t api = session.info().l2_bytes;
  const std::uint64_t flush = api <= small_l2_bytes ? 2 * api / unit_bytes * unit_bytes : 0;
  const std::uint64_t largest = *std::max_element(footprints_bytes.begin(), footprints_bytes.end());
  for (const std::uint64_t bytes : footprints_bytes) {
    program::Program p = row_program(session, bytes, stride_bytes, warm_laps, sampled_loads, sample_number);
    p.buffers[slot_flush].size_bytes = std::max(largest + flush, slot_bytes);
    if (flush != 0) {
      auto other = std::get<program::Walk>(p.phases.front());
      other.first_byte = largest;
      other.footprint_bytes = flush;
      other.laps = 1;
      p.phases.insert(p.phases.begin(), other);
    }
    batch.push_back(std::move(p));
  }
  return run_rows(session, batch, footprints_bytes);
}

Expected<std::vector<L2Row>> l2_curve_gently(Session& session, const std::vector<std::uint64_t>& footprints_bytes,
                                             std::uint64_t stride_bytes, std::uint32_t warm_laps,
                                             std::uint64_t capacity_bytes) {
  const std::uint64_t loads = std::clamp<std::uint64_t>(capacity_bytes / stride_bytes / 32, 64, most_sampled_loads);
  std::vector<L2Row> rows;
  for (std::uint64_t round = 0; round * loads < most_sampled_loads; ++round) {
    auto more = l2_curve(session, footprints_bytes, stride_bytes, warm_laps, loads, round);
    if (!more || round == 0) {
      if (!more) return more;
      rows = std::move(*more);
      continue;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].timed = merged(rows[i].timed, (*more)[i].timed);
  }
  return rows;
}

Expected<std::vector<L2Row>> l2_rows_from(Session& session, const std::vector<std::uint32_t>& sms, std::uint64_t bytes,
                                          std::uint64_t stride_bytes) {
  program::Batch batch(sms.size(), row_program(session, bytes, stride_bytes, few_laps, most_sampled_loads, 0));
  for (std::size_t i = 0; i < sms.size(); ++i) batch[i].agents = {{sms[i], 0}};
  return run_rows(session, batch, std::vector<std::uint64_t>(sms.size(), bytes));
}

Expected<L2Bracket> bracket_l2(Session& session, double threshold_cycles, std::uint64_t stride_bytes,
                               std::uint64_t first_bytes) {
  constexpr double overflows_from = 0.02;
  constexpr double settled_from = 0.75;                    // of the misses left by a quarter of the laps
  constexpr std::uint64_t most_walked_bytes = 128 * mebi;  // a large L2 would take too long
  const std::uint64_t limit =
      std::min(session.info().largest_buffer_bytes / 2, std::max(4 * session.info().l2_bytes, 256 * mebi));
  L2Bracket bracket;
  const auto misses = [&](std::uint64_t bytes, std::uint32_t laps) -> Expected<double> {
    auto rows = l2_curve(session, {bytes}, stride_bytes, laps);
    if (!rows) return tl::unexpected<Error>(rows.error());
    return share_between(rows->front(), threshold_cycles, no_limit);
  };
  for (std::uint64_t bytes = first_bytes; bytes <= limit && bracket.overflows_bytes == 0; bytes *= 2) {
    auto share = misses(bytes, bracket.warm_laps);
    if (!share) return tl::unexpected<Error>(share.error());
    while (*share > overflows_from && std::uint64_t{4} * bracket.warm_laps * bytes <= most_walked_bytes) {
      auto later = misses(bytes, 4 * bracket.warm_laps);
      if (!later) return tl::unexpected<Error>(later.error());
      if (*later > settled_from * *share) break;
      bracket.warm_laps *= 4;
      share = later;
    }
    (*share > overflows_from ? bracket.overflows_bytes : bracket.fits_bytes) = bytes;
  }
  return bracket;
}

change_point::Trace classified(const std::vector<L2Row>& rows, double low_cycles, double high_cycles,
                               std::uint64_t weight) {
  change_point::Trace trace;
  for (const L2Row& row : rows)
    trace.rows.push_back({static_cast<double>(row.bytes), classified(row.timed, low_cycles, high_cycles, weight)});
  return trace;
}

double share_between(const L2Row& row, double low_cycles, double high_cycles) {
  const auto n = static_cast<double>(std::max<std::uint64_t>(1, total(row.timed)));
  return static_cast<double>(total(between(row.timed, low_cycles, high_cycles))) / n;
}

std::vector<std::uint64_t> spaced(std::uint64_t low_bytes, std::uint64_t high_bytes, std::size_t count) {
  std::vector<std::uint64_t> footprints;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t at = low_bytes + (high_bytes - low_bytes) * i / std::max<std::size_t>(1, count - 1);
    const std::uint64_t rounded = std::max(unit_bytes, at / unit_bytes * unit_bytes);
    if (footprints.empty() || rounded > footprints.back()) footprints.push_back(rounded);
  }
  return footprints;
}

}  // namespace gputopo::experiments
