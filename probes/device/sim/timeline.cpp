#include "device/sim/timeline.hpp"

#include <algorithm>
#include <cmath>

namespace gputopo::sim {
namespace {

constexpr double launch_ns = 10000;  // from one launch's end to the next one's beginning
constexpr double ns_per_us = 1000;
constexpr double khz_per_cycle_per_ns = 1e6;

// Lines of a tenant's that are let in before one load, of any cache: more would have pushed each other out.
double most_lines_at_once(const Model& model) {
  constexpr double times_over = 2;
  double most = 1;
  for (const CacheModel& cache : model.caches)
    most = std::max(most, static_cast<double>(cache.size_bytes / std::max<std::uint64_t>(1, cache.line_bytes)));
  return times_over * most;
}

}  // namespace

Timeline::Timeline(const Model& model, Hierarchy& hierarchy)
    : model_(&model),
      hierarchy_(&hierarchy),
      eventful_(model.neighbour || model.tenant || !model.clock_steps.empty()),
      random_(mix(model.noise.seed ^ 0x74696d65ULL)),
      free_ns_(model.gpu.sm_count, 0),
      cycles_per_ns_(static_cast<double>(model.gpu.clock_khz) / khz_per_cycle_per_ns),
      lines_at_once_(most_lines_at_once(model)) {
  has_tenant_.assign(model.gpu.sm_count, model.tenant && model.tenant->sms.empty());
  if (model.tenant)
    for (const std::uint32_t sm : model.tenant->sms) has_tenant_[sm] = true;
}

// Turns follow each other from time 0 on, each as long as the seed says.
const Timeline::Gap& Timeline::gap(std::size_t number) {
  const NeighbourModel& n = *model_->neighbour;
  while (first_gap_ + gaps_.size() <= number) {
    const double begin =
        (gaps_.empty() ? 0 : gaps_.back().end_ns) + random_.within(n.slice_us.low, n.slice_us.high) * ns_per_us;
    gaps_.push_back({begin, begin + random_.within(n.away_us.low, n.away_us.high) * ns_per_us});
  }
  return gaps_[number - first_gap_];
}

void Timeline::begin_batch() {
  batch_ns_ = std::max(batch_ns_, *std::max_element(free_ns_.begin(), free_ns_.end())) + launch_ns;
  std::fill(free_ns_.begin(), free_ns_.end(), batch_ns_);
  if (!model_->neighbour) return;
  // Turns that ended before this batch can't be met any more; the last one of them dates those to come.
  while (gap(first_gap_ + 1).end_ns <= batch_ns_) {
    gaps_.pop_front();
    ++first_gap_;
  }
}

void Timeline::begin_program(const std::vector<std::uint32_t>& sms, bool alone) {
  sms_ = sms;
  alone_ = alone;
  seen_ = {};
  busy_cycles_ = busy_ns_ = 0;
  double start = batch_ns_;
  if (alone) start = *std::max_element(free_ns_.begin(), free_ns_.end());
  for (const std::uint32_t sm : sms) start = std::max(start, free_ns_[sm]);
  enter(start);
}

void Timeline::enter(double time_ns) {
  now_ns_ = time_ns;
  if (model_->neighbour) pass_gaps_before_start();
  set_clock(static_cast<double>(model_->gpu.clock_khz) / khz_per_cycle_per_ns);
  hierarchy_->set_clock_ratio(1);
  next_clock_ = 0;
  follow_clock();
}

void Timeline::pass_gaps_before_start() {
  next_gap_ = first_gap_;
  while (gap(next_gap_).begin_ns <= now_ns_) {
    now_ns_ = std::max(now_ns_, gap(next_gap_).end_ns);
    ++next_gap_;
  }
  if (next_gap_ > gaps_felt_) hierarchy_->switch_away(model_->neighbour->memory_share, random_);
  gaps_felt_ = std::max(gaps_felt_, next_gap_);
}

void Timeline::set_clock(double cycles_per_ns) {
  cycles_per_ns_ = cycles_per_ns;
  latest_ = {};
}

// Most loads take as long as the one before, and these divisions longer than all else that happens in a load's time.
const Timeline::Duration& Timeline::duration_of(double cycles) {
  if (cycles == latest_.cycles) return latest_;
  latest_ = {cycles, 0, 0};
  if (cycles_per_ns_ > 0) latest_.ns = cycles / cycles_per_ns_;
  latest_.us = latest_.ns / ns_per_us;
  return latest_;
}

double Timeline::spend(double cycles, Route& route) {
  const Duration alone = duration_of(cycles);
  double extra = model_->tenant ? disturb(alone.us, route) : 0;
  const double ns = extra == 0 || cycles_per_ns_ <= 0 ? alone.ns : (cycles + extra) / cycles_per_ns_;
  now_ns_ += ns;
  busy_cycles_ += cycles + extra;
  busy_ns_ += ns;
  if (model_->neighbour) extra += cross_gaps(route);
  follow_clock();
  return extra;
}

double Timeline::cross_gaps(Route& route) {
  double away_cycles = 0;
  while (now_ns_ >= gap(next_gap_).begin_ns) {
    const Gap& g = gap(next_gap_++);
    const double away_ns = g.end_ns - g.begin_ns;
    now_ns_ += away_ns;
    away_cycles += away_ns * cycles_per_ns_;
    ++seen_.switches;
    seen_.away_ns += static_cast<std::uint64_t>(away_ns);
    hierarchy_->switch_away(model_->neighbour->memory_share, random_);
    gaps_felt_ = std::max(gaps_felt_, next_gap_);
    for (Route::Station& s : route.stations)
      for (Route::Tlb& t : s.tlbs) t.latest_page = ~std::uint64_t{0};
  }
  return away_cycles;
}

// What a tenant does while a load is under way: lines of its own in the caches, and a wait where both meet.
double Timeline::disturb(double us, Route& route) {
  const TenantModel& t = *model_->tenant;
  lines_due_ = std::min(lines_due_ + us * t.lines_per_us, lines_at_once_);
  if (has_tenant_[sms_.front()])
    private_lines_due_ = std::min(private_lines_due_ + us * t.private_lines_per_us, lines_at_once_);
  let_in(route);
  const bool waits = route.left_sm && t.slow_share > 0 && random_.unit() < t.slow_share;
  return waits ? random_.within(t.slow_cycles.low, t.slow_cycles.high) : 0;
}

// While the program is in shared memory they come all the same: its next load finds them.
void Timeline::let_in(Route& route) {
  if (route.stations.empty()) return;
  for (; lines_due_ >= 1; --lines_due_) hierarchy_->intrude(route, true, random_);
  for (; private_lines_due_ >= 1; --private_lines_due_) hierarchy_->intrude(route, false, random_);
}

void Timeline::follow_clock() {
  const auto& steps = model_->clock_steps;
  for (; next_clock_ < steps.size() && now_ns_ >= steps[next_clock_].at_us * ns_per_us; ++next_clock_) {
    const auto khz = static_cast<double>(steps[next_clock_].clock_khz);
    set_clock(khz / khz_per_cycle_per_ns);
    hierarchy_->set_clock_ratio(khz / static_cast<double>(model_->gpu.clock_khz));
  }
}

program::Interruptions Timeline::end_program() {
  for (const std::uint32_t sm : sms_) free_ns_[sm] = now_ns_;
  if (alone_) std::fill(free_ns_.begin(), free_ns_.end(), now_ns_);
  seen_.cycles_per_ns = busy_ns_ > 0 ? busy_cycles_ / busy_ns_ : cycles_per_ns_;
  return seen_;
}

}  // namespace gputopo::sim
