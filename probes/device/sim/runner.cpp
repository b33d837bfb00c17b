#include "device/sim/runner.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "device/sim/latency_counter.hpp"
#include "device/sim/noise.hpp"
#include "program/order.hpp"
#include "stop/stop.hpp"

namespace gputopo::sim {
namespace {

using program::Execute;
using program::Path;
using program::PhaseTrace;
using program::Program;
using program::Record;
using program::Space;
using program::Walk;

// Address ranges of the spaces, far apart. The kernel's own constant bank comes first, then the modules' banks.
constexpr std::uint32_t buffer_shift = 40;
constexpr std::uint64_t constant_base = std::uint64_t{1} << 57;
constexpr std::uint64_t code_base = std::uint64_t{1} << 58;

// Loads of global or constant memory, or fetches of code.
class RoutedLoads {
 public:
  RoutedLoads(Hierarchy& hierarchy, Route& route, std::uint64_t base, Random& random)
      : hierarchy_(hierarchy), route_(route), base_(base), random_(random) {}
  double latency(std::uint64_t offset) { return hierarchy_.load(route_, base_ + offset, random_); }
  void touch(std::uint64_t offset) { hierarchy_.touch(route_, base_ + offset, random_); }
  // A whole lap at once, where that can be had.
  bool sweep(const Walk& w) {
    return w.order == program::Order::forward && program::lap_loads(w) == program::positions(w) &&
           hierarchy_.sweep(route_, base_, w.footprint_bytes, w.stride_bytes, random_);
  }
  // The first loads of a lap, which nobody times.
  void make_first(const Walk& w, std::uint64_t loads) {
    const std::uint64_t count = program::positions(w);
    const program::Stepping s = program::stepping(w.order, w.order_seed, count);
    hierarchy_.rounds(route_, {base_, count, w.stride_bytes, s.first, s.step, loads}, random_);
  }
  Route& route() { return route_; }

 private:
  Hierarchy& hierarchy_;
  Route& route_;
  std::uint64_t base_;
  Random& random_;
};

// Jumps to blocks of code. Between two of them the loop runs that makes them.
class Jumps {
 public:
  Jumps(RoutedLoads fetches, std::vector<std::uint64_t> own) : fetches_(fetches), own_(std::move(own)) {}
  double latency(std::uint64_t offset) {
    run_own();
    return fetches_.latency(offset);
  }
  void touch(std::uint64_t offset) {
    run_own();
    fetches_.touch(offset);
  }
  bool sweep(const Walk& w) { return own_.empty() && fetches_.sweep(w); }
  void make_first(const Walk& w, std::uint64_t loads) {
    if (own_.empty()) return fetches_.make_first(w, loads);
    const std::uint64_t count = program::positions(w);
    const program::Stepping s = program::stepping(w.order, w.order_seed, count);
    std::uint64_t position = s.first;
    for (std::uint64_t k = 0; k < loads; ++k, position = program::advance(position, s.step, count))
      touch(position * w.stride_bytes);
  }
  Route& route() { return fetches_.route(); }

 private:
  void run_own() {
    for (const std::uint64_t at : own_) fetches_.touch(at);
  }
  RoutedLoads fetches_;
  std::vector<std::uint64_t> own_;  // from the walk's first byte
};

class SharedLoads {
 public:
  explicit SharedLoads(double latency_cycles) : latency_cycles_(latency_cycles) {}
  double latency(std::uint64_t) const { return latency_cycles_; }
  void touch(std::uint64_t) const {}
  static bool sweep(const Walk&) { return true; }
  static void make_first(const Walk&, std::uint64_t) {}
  Route& route() { return nowhere_; }

 private:
  double latency_cycles_;
  Route nowhere_;
};

class Runner {
 public:
  Runner(const Model& model, Hierarchy& hierarchy, Timeline& timeline, const Program& program, std::uint32_t default_sm,
         std::uint64_t run_number)
      : model_(model),
        hierarchy_(hierarchy),
        timeline_(timeline),
        program_(program),
        default_sm_(default_sm),
        replacement_(mix(model.noise.seed ^ mix(program::hash(program) ^ mix(run_number)))),
        noise_(model.noise, replacement_.bits()),
        backgrounds_(program.agents.size()) {
    list_background();
  }

  program::ProgramTrace run() {
    program::ProgramTrace trace;
    for (const program::Agent& a : program_.agents) trace.agent_sms.push_back(a.sm.value_or(default_sm_));
    carve(trace.agent_sms);
    hierarchy_.launch(trace.agent_sms);
    timeline_.begin_program(trace.agent_sms, program_.isolation == Scope::gpu);
    for (const program::Phase& phase : program_.phases) {
      const std::uint32_t agent = program::agent_of(phase);
      sm_ = trace.agent_sms[agent];
      warp_ = program_.agents[agent].warp;
      if (!backgrounds_[agent]) backgrounds_[agent] = background_of(sm_, warp_);
      background_ = &*backgrounds_[agent];
      trace.phases.push_back(std::visit([this](const auto& p) { return perform(p); }, phase));
    }
    trace.interruptions = timeline_.end_program();
    if (const auto asked = program::asked_buffer(program_)) trace.address = base_of(*asked);
    return trace;
  }

 private:
  void carve(const std::vector<std::uint32_t>& sms) {
    if (!model_.shared) return;
    std::uint64_t needed = 0;
    for (const program::Buffer& b : program_.buffers)
      if (b.space == Space::shared) needed += b.size_bytes;
    if (needed != 0) needed += model_.shared->block_reserved_bytes;
    const std::uint64_t bytes = carve_out_bytes(*model_.shared, program_.carve_out_percent, needed);
    for (const std::uint32_t sm : sms) hierarchy_.set_carve_out(sm, bytes);
  }

  // What the loop around the loads reads at the start of each lap: the kernel's own constants and code.
  struct Background {
    std::optional<Route> constants, code;
  };

  void begin_lap() {
    for (const std::uint64_t at : background_constants_) hierarchy_.pass(*background_->constants, at, replacement_);
    for (const std::uint64_t at : background_code_) hierarchy_.pass(*background_->code, at, replacement_);
  }

  const PathModel& constant_path() const { return *model_.path(Path::constant); }
  void list_background() {
    const auto list = [&](const PathModel& path, std::uint64_t base, std::uint64_t bytes, auto& addresses) {
      for (std::uint64_t at = 0; at < bytes; at += fetch_bytes(model_, path)) addresses.push_back(base + at);
    };
    const BackgroundModel& b = model_.background;
    if (b.constant_bytes != 0)
      list(constant_path(), constant_base + b.constant_offset_bytes, b.constant_bytes, background_constants_);
    if (b.code_bytes != 0)
      list(model_.execution->path, code_base + model_.execution->limit_bytes, b.code_bytes, background_code_);
  }
  Background background_of(std::uint32_t sm, std::uint32_t warp) {
    Background b;
    if (!background_constants_.empty()) b.constants = hierarchy_.route(constant_path(), sm, warp, false);
    if (!background_code_.empty()) b.code = hierarchy_.route(model_.execution->path, sm, warp, false);
    return b;
  }

  std::uint64_t base_of(std::uint32_t buffer) const {
    const program::Buffer& b = program_.buffers[buffer];
    if (b.space == Space::code) return code_base;
    if (b.space == Space::constant)
      return constant_base + (std::uint64_t{b.module} + 1) * model_.constant_bytes_per_module;
    return std::uint64_t{buffer} << buffer_shift;
  }

  PhaseTrace perform(const Walk& w) {
    if (w.path == Path::shared) return record(w, SharedLoads{model_.shared->latency_cycles});
    if (w.path == Path::global_store) return store(w);
    Route route = hierarchy_.route(*model_.path(w.path), sm_, warp_, w.path == Path::global_no_allocate);
    const RoutedLoads loads{hierarchy_, route, base_of(w.buffer) + w.first_byte, replacement_};
    if (w.path != Path::instruction) return record(w, loads);
    const ExecutionModel& x = *model_.execution;
    std::vector<std::uint64_t> own;
    for (std::uint64_t at = 0; at < x.between_bytes; at += fetch_bytes(model_, x.path))
      own.push_back(x.walked_bytes + at - w.first_byte);
    return record(w, Jumps{loads, std::move(own)});
  }

  // Along the way of cached loads.
  PhaseTrace store(const Walk& w) {
    Route route = hierarchy_.route(*model_.path(Path::global_cached), sm_, warp_, false);
    const std::uint64_t base = base_of(w.buffer) + w.first_byte;
    for (std::uint32_t lap = 0; lap < w.laps; ++lap) {
      begin_lap();
      each_load(w, 0, [&](std::uint64_t offset) {
        stop::look();
        hierarchy_.store(route, base + offset, replacement_);
        // The SM waits for none of them: each takes as long as what it hands it to.
        if (timeline_.is_eventful()) timeline_.spend(route.stations.front().latency_cycles / w.lanes, route);
      });
    }
    PhaseTrace trace;
    trace.loads = program::lap_loads(w) * w.laps;
    return trace;
  }

  template <class Loads>
  PhaseTrace record(const Walk& w, Loads loads) {
    PhaseTrace trace;
    trace.loads = program::lap_loads(w) * w.laps;
    const double overhead = model_.clock_overhead_cycles[static_cast<std::size_t>(w.path)];
    switch (w.record) {
      case Record::nothing:
        walk(w, loads, w.laps, nullptr);
        break;
      case Record::lap_time:
        walk(w, loads, w.laps, [&](double cycles) { trace.cycles += cycles_of(loads, cycles); });
        break;
      case Record::lap_times:
        trace.lap_cycles.resize(w.laps);
        for (std::uint64_t& lap : trace.lap_cycles)
          walk(w, loads, 1, [&](double cycles) { lap += cycles_of(loads, cycles); });
        break;
      case Record::histogram: {
        walk(w, loads, w.laps, [&](double cycles) { latency_counter_.add(cycles_of(loads, cycles + overhead)); });
        trace.histogram = latency_counter_.take_counts();
        break;
      }
      case Record::latencies:
        walk(w, loads, w.laps - 1, nullptr);
        trace.latencies.reserve(program::lap_loads(w));
        walk(w, loads, 1, [&](double cycles) { trace.latencies.push_back(cycles_of(loads, cycles + overhead)); });
        break;
    }
    return trace;
  }

  // As a clock would count them: with noise, and with what happens meanwhile.
  template <class Loads>
  std::uint32_t cycles_of(Loads& loads, double latency_cycles) {
    const std::uint32_t observed = noise_.observe(latency_cycles);
    if (!timeline_.is_eventful()) return observed;
    return observed + static_cast<std::uint32_t>(timeline_.spend(observed, loads.route()));
  }

  // Laps of loads that nobody times, as many as leave something else than they find.
  template <class Loads, class Lap>
  void run_laps(Loads& loads, std::uint32_t laps, const Lap& run_lap) {
    for (std::uint32_t lap = 0; lap < laps; ++lap) {
      stop::look();
      const std::uint64_t before = changes(loads);
      begin_lap();
      run_lap();
      // Where nothing came or went, only the order of use can have changed, which the same loads leave the same.
      if (changes(loads) == before) return;
    }
  }

  // Laps of loads. `see` gets every load's latency; without it nobody times them.
  template <class Loads, class See>
  void walk(const Walk& w, Loads& loads, std::uint32_t laps, const See& see) {
    constexpr bool timed = !std::is_same_v<See, std::nullptr_t>;
    if (!timed && !timeline_.is_eventful()) {
      return run_laps(loads, laps, [&] {
        if (!loads.sweep(w)) loads.make_first(w, program::lap_loads(w));
      });
    }
    timeline_.let_in(loads.route());
    for (std::uint32_t lap = 0; lap < laps; ++lap) {
      stop::look();
      begin_lap();
      if constexpr (timed) {
        const bool at_once = !timeline_.is_eventful() && w.lead_loads != 0;
        if (at_once) loads.make_first(w, w.lead_loads);
        std::uint64_t left_out = at_once ? 0 : w.lead_loads;
        each_load(w, at_once ? w.lead_loads : 0, [&](std::uint64_t offset) {
          if (left_out == 0) return see(loads.latency(offset));
          --left_out;
          spend(loads, offset, w.lanes);
        });
      } else {
        each_load(w, 0, [&](std::uint64_t offset) { spend(loads, offset, w.lanes); });
      }
    }
  }

  // A load that nobody times.
  template <class Loads>
  void spend(Loads& loads, std::uint64_t offset, std::uint32_t lanes) {
    if (timeline_.is_eventful())
      timeline_.spend(loads.latency(offset) / lanes, loads.route());
    else
      loads.touch(offset);
  }

  template <class Loads>
  std::uint64_t changes(Loads& loads) const {
    std::uint64_t sum = loads.route().changes();
    for (const auto& route : {&background_->constants, &background_->code}) sum += *route ? (*route)->changes() : 0;
    return sum;
  }

  // From load number `from` of a lap on.
  template <class Visit>
  static void each_load(const Walk& w, std::uint64_t from, const Visit& visit) {
    const std::uint64_t count = program::positions(w);
    const std::uint64_t loads = program::lap_loads(w);
    program::Stepping s = program::stepping(w.order, w.order_seed, count);
    std::uint64_t position = (s.first + from % count * s.step) % count;
    for (std::uint64_t k = from; k < loads; ++k) {
      if (k == w.lead_loads && w.tail_step != 0) {
        s.step = w.tail_step;
        position = w.tail_first;
      }
      visit(position * w.stride_bytes);
      position = program::advance(position, s.step, count);
    }
  }

  PhaseTrace perform(const Execute& e) {
    const ExecutionModel& x = *model_.execution;
    Route route = hierarchy_.route(x.path, sm_, warp_, false);
    RoutedLoads fetches{hierarchy_, route, code_base, replacement_};
    const std::uint64_t code_bytes = (e.code_bytes + x.unit_bytes - 1) / x.unit_bytes * x.unit_bytes;
    const std::uint64_t step = fetch_bytes(model_, x.path);
    const double issue_cycles =
        x.cycles_per_instruction * static_cast<double>(step) / static_cast<double>(x.instruction_bytes);
    PhaseTrace trace;
    const std::uint64_t fetched = (code_bytes + step - 1) / step;
    const std::uint64_t unit = std::max(x.unit_bytes, step);
    const std::uint64_t units = (code_bytes + unit - 1) / unit;
    trace.loads = e.timed ? e.laps * units : e.laps * fetched;
    if (e.timed) trace.latencies.resize(trace.loads);
    if (!e.timed && !timeline_.is_eventful()) {
      run_laps(fetches, e.laps, [&] {
        if (hierarchy_.sweep(route, code_base, fetched * step, step, replacement_)) return;
        for (std::uint64_t at = 0; at < code_bytes; at += step) fetches.touch(at);
      });
      return trace;
    }
    for (std::uint32_t lap = 0; lap < e.laps; ++lap) {
      begin_lap();
      for (std::uint64_t at = 0; at < code_bytes; at += step) {
        stop::look();
        const double cycles = fetches.latency(at) + issue_cycles;
        if (e.timed)
          trace.latencies[lap * units + at / unit] += cycles_of(fetches, cycles);
        else
          timeline_.spend(cycles, route);
      }
    }
    for (const std::uint32_t cycles : trace.latencies) trace.cycles += cycles;
    return trace;
  }

  const Model& model_;
  Hierarchy& hierarchy_;
  Timeline& timeline_;
  const Program& program_;
  std::uint32_t default_sm_;
  Random replacement_;
  Noise noise_;
  std::uint32_t sm_ = 0;
  std::uint32_t warp_ = 0;
  LatencyCounter latency_counter_;
  std::vector<std::uint64_t> background_constants_, background_code_;
  std::vector<std::optional<Background>> backgrounds_;  // by agent
  const Background* background_ = nullptr;              // of the phase's agent
};

}  // namespace

program::ProgramTrace run_program(const Model& model, Hierarchy& hierarchy, Timeline& timeline, const Program& program,
                                  std::uint32_t default_sm, std::uint64_t run_number) {
  return Runner(model, hierarchy, timeline, program, default_sm, run_number).run();
}

}  // namespace gputopo::sim
