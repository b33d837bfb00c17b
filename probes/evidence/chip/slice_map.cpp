#include "evidence/chip/slice_map.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "evidence/inference/modes.hpp"
#include "evidence/looks/latency.hpp"
#include "program/order.hpp"

namespace gputopo::evidence {
namespace {

constexpr std::uint64_t fingerprint_lines = 2048;  // some 20 for each of a hundred slices, within one page
constexpr std::size_t fingerprint_sms = 16;
constexpr std::uint64_t lines_at_once = 256;
// Orders: what a load takes depends on the one before it, too. Laps are as many as one program records of these lines.
constexpr std::uint64_t fingerprint_orders = 6;

// SMs all over the chip, of SM 0's side: another side may keep copies of its own, in other slices.
std::vector<std::uint32_t> sms_of_a_side(const Session& session, const Findings::L2Sets& sets) {
  std::vector<std::uint32_t> all(session.info().gpu.sm_count);
  std::iota(all.begin(), all.end(), 0U);
  if (sets.sets.size() > 1) {
    all = sets.sets.front();
    std::sort(all.begin(), all.end());
  }
  std::vector<std::uint32_t> some;
  const std::size_t count = std::min(fingerprint_sms, all.size());
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

class FingerprintLooks {
 public:
  FingerprintLooks(Session& session, std::uint64_t line_bytes) : session_(session), line_bytes_(line_bytes) {
    laps_ = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(session.info().largest_recording / lines_at_once, 1, looks_at_a_line));
  }

  // Each line's looks in half of the orders, from one SM.
  Expected<std::vector<double>> half(std::uint32_t sm, std::uint64_t from) {
    std::vector<std::vector<double>> looks(fingerprint_lines);
    program::Batch batch;
    for (std::uint64_t at = 0; at < fingerprint_lines; at += lines_at_once)
      for (std::uint64_t seed = from; seed < from + fingerprint_orders / 2; ++seed)
        batch.push_back(program_of(sm, at, seed));
    auto traces = session_.run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    std::size_t i = 0;
    for (std::uint64_t at = 0; at < fingerprint_lines; at += lines_at_once)
      for (std::uint64_t seed = from; seed < from + fingerprint_orders / 2; ++seed, ++i) {
        const program::Stepping s = program::stepping(program::Order::shuffled, seed, lines_at_once);
        std::uint64_t line = s.first;
        for (const std::uint32_t cycles : (*traces)[i].phases.back().latencies) {
          looks[at + line].push_back(cycles);
          line = program::advance(line, s.step, lines_at_once);
        }
      }
    std::vector<double> means;
    for (auto& of_line : looks) {
      samples_ += of_line.size();
      means.push_back(middle_half(std::move(of_line)));
    }
    return means;
  }

  std::uint64_t samples() const { return samples_; }

 private:
  program::Program program_of(std::uint32_t sm, std::uint64_t first_line, std::uint64_t seed) const {
    program::Program p = make_program(fmt::format("l2 lines from {} as far as SM {} finds them", first_line, sm),
                                      session_.info(), slot_flush);
    p.isolation = Scope::gpu;
    p.agents = {{sm, 0}};
    program::Walk walk = make_walk(l2_path, lines_at_once * line_bytes_, line_bytes_, 1);
    walk.first_byte = first_line * line_bytes_;
    walk.order = program::Order::shuffled;
    walk.order_seed = seed;
    program::Walk rounds = recorded(walk, program::Record::latencies, 1);
    rounds.loads_per_lap = laps_ * lines_at_once;
    p.phases = {walk, rounds};
    return p;
  }

  Session& session_;
  std::uint64_t line_bytes_;
  std::uint32_t laps_;
  std::uint64_t samples_ = 0;
};

}  // namespace

Expected<SliceMap> map_slices(Session& session, const Findings::L2Sets& sets, std::uint64_t line_bytes) {
  SliceMap map;
  map.line_bytes = line_bytes;
  map.sms = sms_of_a_side(session, sets);
  FingerprintLooks looks(session, line_bytes);
  Fingerprints first(fingerprint_lines), second(fingerprint_lines);
  for (const std::uint32_t sm : map.sms)
    for (auto& [half, from] : {std::pair{&first, std::uint64_t{1}}, std::pair{&second, 1 + fingerprint_orders / 2}}) {
      auto means = looks.half(sm, from);
      if (!means) return tl::unexpected<Error>(means.error());
      for (std::size_t line = 0; line < fingerprint_lines; ++line) (*half)[line].push_back((*means)[line]);
    }
  map.places = slice_places(first, second);
  map.samples = looks.samples();
  return map;
}

}  // namespace gputopo::evidence
