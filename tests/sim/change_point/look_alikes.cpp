#include "look_alikes.hpp"

#include <algorithm>
#include <initializer_list>

#include "device/sim/random.hpp"

namespace gputopo::change_point::testing {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(sim::mix(seed)) {}

  template <class T>
  T any(std::initializer_list<T> choices) {
    return choices.begin()[random_.below(static_cast<std::uint32_t>(choices.size()))];
  }
  std::uint64_t below(std::uint64_t bound) { return random_.below(static_cast<std::uint32_t>(bound)); }
  double unit() { return random_.unit(); }
  sim::Replacement policy() {
    return any({sim::Replacement::lru, sim::Replacement::lru, sim::Replacement::fifo, sim::Replacement::random,
                sim::Replacement::tree_plru, sim::Replacement::not_most_recent});
  }
  sim::IndexKind index() { return any({sim::IndexKind::modulo, sim::IndexKind::xor_fold, sim::IndexKind::hash}); }
  void noise(SweepModel& model) {
    model.jitter_cycles = any({0.0, 0.5, 2.0});
    model.outlier_probability = any({0.0, 0.0, 1e-4, 1e-3});
  }

 private:
  sim::Random random_;
};

std::uint64_t capacity_bytes(const SweepModel& model) {
  return model.capacity_lines * model.line_bytes;
}

// Starts the sweep so that the capacity lies between two shares of it; half of the time on a row, half beside one.
void place(SweepModel& model, Draw& draw, double from, double to) {
  const auto before = static_cast<std::uint64_t>(static_cast<double>(model.rows) * (from + (to - from) * draw.unit()));
  const std::uint64_t beside = draw.below(2) == 0 ? 0 : draw.below(model.step_bytes) / 64 * 64;
  const std::uint64_t distance = before * model.step_bytes + beside;
  const std::uint64_t capacity = capacity_bytes(model);
  model.first_bytes = capacity > distance + 8 * model.line_bytes
                          ? capacity - distance
                          : std::max(model.step_bytes, capacity % model.step_bytes + model.step_bytes);
}

// 16 or 32 KiB, a clock that counts in fours, at most 256 loads a row.
SweepModel amd_vector_l1(std::uint64_t seed) {
  Draw draw(seed);
  SweepModel model;
  model.line_bytes = draw.any<std::uint64_t>({64, 128});
  model.capacity_lines = draw.any<std::uint64_t>({16384, 32768}) / model.line_bytes;
  model.organisation.sets = static_cast<std::uint32_t>(model.capacity_lines / draw.any<std::uint64_t>({4, 64}));
  model.organisation.replacement = draw.policy();
  model.hit_cycles = draw.any({116.0, 120.0, 124.0, 140.0});
  model.miss_cycles = 300 + static_cast<double>(draw.below(200));
  model.miss_spread = draw.any({0.0, 20.0, 100.0});
  model.bank_cycles = draw.any({0.0, 4.0, 8.0});
  model.clock_cycles = 4;
  model.rows = draw.any<std::uint64_t>({40, 77});
  model.kept_loads = draw.any<std::uint64_t>({256, 0});
  model.stride_bytes = draw.any<std::uint64_t>({64, model.line_bytes});
  draw.noise(model);
  place(model, draw, 0.1, 0.9);
  return model;
}

SweepModel amd_scalar_l1(std::uint64_t seed) {
  Draw draw(seed);
  SweepModel model;
  model.line_bytes = 64;
  model.capacity_lines = 256;
  model.organisation.sets = 64;
  model.organisation.replacement = draw.policy();
  model.hit_cycles = 48;
  model.miss_cycles = 160;
  model.miss_spread = draw.any({0.0, 60.0});
  model.clock_cycles = 4;
  model.rows = draw.any<std::uint64_t>({12, 20, 60});
  model.kept_loads = 256;
  draw.noise(model);
  model.fixed_miss_from = draw.below(2);
  place(model, draw, 0.3, 0.8);
  return model;
}

SweepModel constant_l1(std::uint64_t seed) {
  Draw draw(seed);
  SweepModel model;
  model.line_bytes = 64;
  model.capacity_lines = 32;
  model.organisation.sets = 8;
  model.organisation.replacement = draw.policy();
  model.hit_cycles = draw.any({17.0, 45.0, 85.0});
  model.miss_cycles = model.hit_cycles + draw.any({40.0, 80.0});
  model.miss_spread = draw.any({0.0, 10.0});
  model.step_bytes = 64;
  model.rows = 21;
  model.first_bytes = 1536;
  draw.noise(model);
  model.fixed_miss_from = draw.any<std::uint64_t>({0, 0, 1600, 1792});
  return model;
}

// One average a size.
SweepModel constant_l1_5(std::uint64_t seed) {
  Draw draw(seed);
  SweepModel model;
  model.line_bytes = 256;
  model.capacity_lines = 126;
  model.organisation.replacement = draw.policy();
  model.hit_cycles = 60;
  model.miss_cycles = 200;
  model.rows = draw.any<std::uint64_t>({10, 40, 100});
  model.one_average_a_row = true;
  model.jitter_cycles = draw.any({0.0, 2.0});
  place(model, draw, 0.2, 0.7);
  return model;
}

SweepModel averages_without_change(std::uint64_t seed) {
  Draw draw(seed);
  SweepModel model;
  model.line_bytes = 256;
  model.capacity_lines = 512;
  model.hit_cycles = draw.any({14.0, 72.0, 200.0});
  model.rows = 221;
  model.first_bytes = 8192;
  model.one_average_a_row = true;
  model.jitter_cycles = draw.any({0.0, 2.0});
  model.drift_cycles = draw.any({0.0, 0.0, 1.0});
  return model;
}

SweepModel nvidia_l1(std::uint64_t seed) {
  Draw draw(seed);
  SweepModel model;
  model.line_bytes = draw.any<std::uint64_t>({32, 128});
  model.capacity_lines = draw.any<std::uint64_t>({24576, 32768, 65536, 117760, 163840}) / model.line_bytes;
  model.organisation.sets = draw.any({1U, 4U});
  model.organisation.replacement = draw.policy();
  model.organisation.index = draw.index();
  model.hit_cycles = draw.any({32.0, 38.0, 70.0, 108.0});
  model.miss_cycles = model.hit_cycles + draw.any({120.0, 200.0});
  model.miss_spread = draw.any({0.0, 40.0});
  model.rows = draw.any<std::uint64_t>({40, 70});
  model.kept_loads = 256;
  model.stride_bytes = draw.any<std::uint64_t>({32, model.line_bytes});
  draw.noise(model);
  place(model, draw, 0.1, 0.9);
  return model;
}

// A level behind it too, one load recorded once, or averages over several laps; banks; the first 512 loads of a lap.
SweepModel averaged_l2(std::uint64_t seed) {
  Draw draw(seed);
  SweepModel model;
  model.line_bytes = draw.any<std::uint64_t>({32, 64});
  model.capacity_lines = draw.any<std::uint64_t>({2048, 3072, 4096});
  model.organisation.sets = draw.any({1U, 16U, 64U});
  model.organisation.replacement = draw.policy();
  model.organisation.index = draw.index();
  model.hit_cycles = draw.any({210.0, 240.0, 280.0});
  model.bank_cycles = draw.any({0.0, 4.0, 20.0});
  model.miss_cycles = model.hit_cycles + draw.any({150.0, 250.0});
  model.miss_spread = draw.any({0.0, 60.0});
  model.step_bytes = model.line_bytes * draw.any<std::uint64_t>({2, 4, 8});
  model.rows = 100;
  model.kept_loads = 512;
  model.stride_bytes = 32;
  model.averaged_laps = draw.any<std::uint64_t>({4, 8, 12});
  draw.noise(model);
  place(model, draw, 0.1, 0.9);
  return model;
}

SweepModel l2_once(std::uint64_t seed) {
  SweepModel model = averaged_l2(seed);
  model.averaged_laps = 1;
  return model;
}

SweepModel l2_then_l3(std::uint64_t seed) {
  Draw draw(seed + 1);
  SweepModel model = l2_once(seed);
  model.rows = 150;
  model.step_bytes = model.line_bytes * draw.any<std::uint64_t>({8, 16});
  place(model, draw, 0.2, 0.5);
  model.next_level_lines =
      model.capacity_lines + model.step_bytes / model.line_bytes * draw.any<std::uint64_t>({20, 60});
  model.next_miss_cycles = model.miss_cycles + 300;
  return model;
}

SweepModel l2_from_the_edge(std::uint64_t seed) {
  Draw draw(seed + 1);
  SweepModel model = averaged_l2(seed);
  model.first_bytes = capacity_bytes(model) - model.step_bytes * draw.below(3);
  return model;
}

SweepModel l2_in_pages(std::uint64_t seed) {
  Draw draw(seed + 1);
  SweepModel model = averaged_l2(seed);
  model.page_lines = draw.any<std::uint64_t>({32, 64});
  model.organisation.sets = draw.any({64U, 256U});
  model.organisation.index = sim::IndexKind::modulo;
  return model;
}

SweepModel l2_in_pages_too_large(std::uint64_t seed) {
  Draw draw(seed + 2);
  SweepModel model = l2_in_pages(seed);
  model.first_bytes = capacity_bytes(model) + model.step_bytes * (2 + draw.below(model.rows));
  return model;
}

SweepModel drifting(std::uint64_t seed) {
  Draw draw(seed + 1);
  SweepModel model = nvidia_l1(seed);
  model.drift_cycles = 0.2 * model.hit_cycles * (draw.unit() - 0.3);
  return model;
}

SweepModel disturbed(std::uint64_t seed) {
  Draw draw(seed + 1);
  SweepModel model = nvidia_l1(seed);
  model.outlier_probability = 0.005 + 0.01 * draw.unit();
  model.outlier_cycles = draw.any({100.0, 300.0, 2000.0});
  return model;
}

SweepModel fixed_misses(std::uint64_t seed) {
  Draw draw(seed + 1);
  SweepModel model = nvidia_l1(seed);
  model.fixed_misses = draw.any<std::uint64_t>({1, 2, 4});
  model.fixed_miss_from = model.first_bytes + model.step_bytes * draw.below(3);
  return model;
}

SweepModel too_large(std::uint64_t seed) {
  Draw draw(seed + 1);
  SweepModel model = amd_vector_l1(seed);
  model.first_bytes = capacity_bytes(model) + model.step_bytes * (1 + draw.below(10));
  return model;
}

SweepModel too_small(std::uint64_t seed) {
  SweepModel model = amd_vector_l1(seed);
  model.first_bytes = capacity_bytes(model) / 2;
  model.rows = capacity_bytes(model) / 2 / model.step_bytes;
  return model;
}

}  // namespace

const std::vector<LookAlike>& look_alikes() {
  static const std::vector<LookAlike> kinds = {{"AMD vector L1", amd_vector_l1},
                                               {"AMD scalar L1", amd_scalar_l1},
                                               {"NVIDIA L1", nvidia_l1},
                                               {"constant L1", constant_l1},
                                               {"constant L1.5", constant_l1_5},
                                               {"L2, averaged", averaged_l2},
                                               {"L2, once", l2_once},
                                               {"L2, then L3", l2_then_l3},
                                               {"from the edge", l2_from_the_edge},
                                               {"pages anew", l2_in_pages},
                                               {"drift", drifting},
                                               {"disturbed", disturbed},
                                               {"fixed misses", fixed_misses},
                                               {"no change", averages_without_change},
                                               {"too small", too_small},
                                               {"too large", too_large},
                                               {"pages, too large", l2_in_pages_too_large}};
  return kinds;
}

}  // namespace gputopo::change_point::testing
