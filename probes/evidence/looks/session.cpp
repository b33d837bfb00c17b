#include "evidence/looks/session.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>

namespace gputopo::evidence {
namespace {

// The SM clock steps in 15 MHz (under 1 %) and reads a little off where a program takes few microseconds.
constexpr double same_clock = 0.03;
constexpr double khz_per_cycle_per_ns = 1e6;
constexpr std::uint32_t rejections_of_a_clock = 6;  // then the new clock is the one there is

}  // namespace

// Programs on one SM follow one another, on different ones a turn takes the GPU from all at once; what wants the GPU
// for itself delays every SM's.
void Patience::lose(const program::Batch& batch, const std::vector<program::ProgramTrace>& traces) {
  std::map<std::uint32_t, double> by_sm;
  double all_ns = 0, most_of_sm_ns = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const program::Interruptions& seen = traces[i].interruptions;
    const double lost_ns = static_cast<double>(seen.away_ns) + turn_ns * seen.switches;
    if (batch[i].isolation == Scope::gpu || traces[i].agent_sms.empty()) {
      all_ns += lost_ns;
      continue;
    }
    for (const std::uint32_t sm : std::set<std::uint32_t>(traces[i].agent_sms.begin(), traces[i].agent_sms.end()))
      most_of_sm_ns = std::max(most_of_sm_ns, by_sm[sm] += lost_ns);
  }
  batch_ns_ -= all_ns + most_of_sm_ns;
  left_ns_ -= all_ns + most_of_sm_ns;
}

double Session::clock_share() const {
  const double driver = static_cast<double>(info().gpu.clock_khz) / khz_per_cycle_per_ns;
  return driver == 0 || cycles_per_ns_ == 0 ? 1 : cycles_per_ns_ / driver;
}

SmClock Session::clock() const {
  constexpr std::size_t one_in = 10;
  if (clocks_khz_.empty()) return {};
  std::vector<std::uint64_t> sorted = clocks_khz_;
  std::ranges::sort(sorted);
  return {sorted[(sorted.size() - 1) / 2], sorted[(sorted.size() - 1) / one_in]};
}

bool Session::is_spoiled(const program::ProgramTrace& trace) {
  const program::Interruptions& i = trace.interruptions;
  disturbance_.switches += i.switches;
  disturbance_.away_ns += i.away_ns;
  if (i.switches != 0) return true;
  if (i.cycles_per_ns <= 0) return false;
  const bool same = std::fabs(i.cycles_per_ns - cycles_per_ns_) <= same_clock * cycles_per_ns_;
  if (same) clock_rejections_ = 0;
  if (same || cycles_per_ns_ == 0 || ++clock_rejections_ > rejections_of_a_clock) {
    if (!same && cycles_per_ns_ != 0) ++clocks_left_behind_;
    cycles_per_ns_ = i.cycles_per_ns;
    clocks_khz_.push_back(static_cast<std::uint64_t>(std::lround(i.cycles_per_ns * khz_per_cycle_per_ns)));
    return false;
  }
  ++disturbance_.clock_changes;
  return true;
}

Expected<std::vector<program::ProgramTrace>> Session::run_once(const program::Batch& batch) {
  if (settings_.stop != nullptr && settings_.stop->load())
    return fail(Error::Kind::interrupted, "interrupted before the measurement was complete; nothing was written");
  return device_.run(batch);
}

tl::unexpected<Error> Session::give_up(const program::Program& program, bool for_good) {
  disturbance_.given_up += for_good ? 1 : 0;
  return fail(
      Error::Kind::unavailable,
      fmt::format("'{}' was interrupted by another process on the GPU every time; measure again when it is idle",
                  program.label));
}

Expected<Session::Ran> Session::run_until_undisturbed(const program::Batch& batch) {
  auto traces = run_once(batch);
  if (!traces) return tl::unexpected<Error>(traces.error());
  disturbance_.programs += batch.size();
  std::vector<std::size_t> spoiled;
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (is_spoiled((*traces)[i])) spoiled.push_back(i);
  patience_.begin_batch();
  for (int in_vain = 0; in_vain < most_rounds_in_vain && !patience_.is_over() && !spoiled.empty();) {
    program::Batch again;
    for (const std::size_t i : spoiled) again.push_back(batch[i]);
    disturbance_.repeated += again.size();
    auto more = run_once(again);
    if (!more) return tl::unexpected<Error>(more.error());
    patience_.lose(again, *more);
    std::vector<std::size_t> still;
    for (std::size_t k = 0; k < spoiled.size(); ++k) {
      (*traces)[spoiled[k]] = std::move((*more)[k]);
      if (is_spoiled((*traces)[spoiled[k]])) still.push_back(spoiled[k]);
    }
    in_vain = still.size() < spoiled.size() ? 0 : in_vain + 1;
    spoiled = std::move(still);
  }
  Ran ran{std::move(*traces), std::nullopt};
  if (!spoiled.empty()) ran.never = spoiled.front();
  return ran;
}

Expected<std::vector<program::ProgramTrace>> Session::run(const program::Batch& batch) {
  auto ran = run_until_undisturbed(batch);
  if (!ran) return tl::unexpected<Error>(ran.error());
  if (ran->never) return give_up(batch[*ran->never]);
  return std::move(ran->traces);
}

Expected<std::vector<program::ProgramTrace>> Session::run_while_they_fit(const program::Batch& batch) {
  auto ran = run_until_undisturbed(batch);
  if (!ran) return tl::unexpected<Error>(ran.error());
  if (ran->never == 0U) return give_up(batch.front());
  if (ran->never) {
    ++disturbance_.given_up;
    ran->traces.resize(*ran->never);
  }
  return std::move(ran->traces);
}

Expected<std::vector<program::ProgramTrace>> Session::run_in_order(
    const std::function<std::vector<program::Batch>()>& make, int most_rounds) {
  std::vector<program::Batch> stages;
  patience_.begin_batch();
  for (int round = 0; round < most_rounds && !patience_.is_over(); ++round) {
    stages = make();
    bool spoiled = false;
    std::vector<program::ProgramTrace> last;
    for (const program::Batch& batch : stages) {
      (round == 0 ? disturbance_.programs : disturbance_.repeated) += batch.size();
      auto traces = run_once(batch);
      if (!traces) return traces;
      for (const auto& trace : *traces) spoiled = is_spoiled(trace) || spoiled;
      if (round != 0) patience_.lose(batch, *traces);
      last = std::move(*traces);
    }
    if (!spoiled) return last;
  }
  return give_up(stages.back().back(), most_rounds >= most_rounds_in_vain);
}

void Session::report(double done, std::string_view what) const {
  if (settings_.progress) settings_.progress(done, what);
}

std::uint64_t Session::fresh_region(Slot slot, std::uint64_t bytes) {
  constexpr std::uint64_t alignment = 64 << 10;  // no line, sector or prefetch reaches from one region into the next
  if (fresh_.size() <= slot) fresh_.resize(slot + 1, sweep_limit_bytes);
  const std::uint64_t room = (bytes + 2 * alignment - 1) / alignment * alignment;
  if (fresh_[slot] + room > slot_bytes) fresh_[slot] = sweep_limit_bytes, begun_anew_.insert(slot);
  const std::uint64_t at = fresh_[slot];
  fresh_[slot] += room;
  return at;
}

void Session::now_measuring(std::string_view experiment, std::string_view memory) {
  experiment_ = experiment;
  memory_ = memory;
  programs_before_ = disturbance_.programs;
}

namespace {

// A plot has 200 rows of pixels and 400 columns, of a byte each where it shows the end of a large cache.
double short_y(double y) {
  return std::strtod(fmt::format("{:.4g}", y).c_str(), nullptr);
}
double short_x(double x) {
  return x == std::floor(x) ? x : std::strtod(fmt::format("{:.6g}", x).c_str(), nullptr);
}

}  // namespace

void Session::keep(DecidingCurve curve) {
  if (curve.memory.empty()) curve.memory = memory_;
  if (curve.source.empty()) {
    curve.source = experiment_;
    curve.programs = disturbance_.programs - programs_before_;
  }
  for (Series& series : curve.series) {
    std::erase_if(series.points, [](const auto& p) { return !std::isfinite(p.first) || !std::isfinite(p.second); });
    for (auto& [x, y] : series.points) x = short_x(x), y = short_y(y);
  }
  std::erase_if(curve.series, [](const Series& series) { return series.points.empty(); });
  if (curve.series.empty()) return;
  if (curve.change) curve.change = short_x(*curve.change);
  if (curve.interval) curve.interval = Interval{short_x(curve.interval->low), short_x(curve.interval->high)};
  std::erase_if(curves_,
                [&](const DecidingCurve& c) { return c.memory == curve.memory && c.quantity == curve.quantity; });
  curves_.push_back(std::move(curve));
}

void Session::rename_kept(std::string_view from, std::string_view to) {
  if (from == to) return;
  std::erase_if(curves_, [&](const DecidingCurve& c) { return c.memory == to; });
  for (DecidingCurve& curve : curves_)
    if (curve.memory == from) curve.memory = to;
}

}  // namespace gputopo::evidence
