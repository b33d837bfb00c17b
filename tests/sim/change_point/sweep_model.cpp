#include "sweep_model.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "device/sim/cache_array.hpp"
#include "device/sim/random.hpp"

namespace gputopo::change_point::testing {
namespace {

constexpr std::uint64_t warm_laps = 2;
constexpr std::uint64_t banks = 8;
constexpr std::uint64_t page_space = 1U << 20U;

class Memory {
 public:
  explicit Memory(const SweepModel& model)
      : model_(model),
        near_(model.organisation, model.capacity_lines),
        next_({}, std::max<std::uint64_t>(1, model.next_level_lines)),
        random_(sim::mix(model.seed + 17)) {}

  // A row's footprint gets its pages, and the caches start empty.
  void deal(std::uint64_t lines) {
    near_.clear();
    next_.clear();
    pages_.clear();
    for (std::uint64_t page = 0; model_.page_lines > 0 && page * model_.page_lines < lines; ++page) {
      pages_.push_back(random_.below(page_space));
    }
  }

  struct Load {
    double cycles = 0;
    bool hit = true;
  };
  Load load(std::uint64_t line, bool taken_by_others) {
    const std::uint64_t place =
        pages_.empty() ? line : pages_[line / model_.page_lines] * model_.page_lines + line % model_.page_lines;
    const bool hit = near_.access(place, 0, 1, random_);
    const bool next_hit = hit || model_.next_level_lines == 0 || next_.access(place, 0, 1, random_);
    const double bank = model_.bank_cycles * static_cast<double>(sim::mix(place) % banks) / banks;
    if (hit && !taken_by_others) {
      return {model_.hit_cycles + bank, true};
    }
    const double miss = next_hit ? model_.miss_cycles : model_.next_miss_cycles;
    return {miss + bank + model_.miss_spread * random_.unit(), hit};
  }

  double noise() {
    const double jitter = model_.jitter_cycles * random_.normal();
    const bool outlier = model_.outlier_probability > 0 && random_.unit() < model_.outlier_probability;
    return jitter + (outlier ? model_.outlier_cycles * (0.2 + random_.unit()) : 0);
  }

 private:
  const SweepModel& model_;
  sim::CacheArray near_;
  sim::CacheArray next_;
  sim::Random random_;
  std::vector<std::uint64_t> pages_;
};

}  // namespace

std::string SweepModel::describe() const {
  std::ostringstream out;
  out << kind << ", seed " << seed << ": " << capacity_lines << " lines of " << line_bytes << " B in "
      << organisation.sets << " sets, policy " << static_cast<int>(organisation.replacement) << ", index "
      << static_cast<int>(organisation.index) << ", pages of " << page_lines << " lines; " << rows << " rows of "
      << step_bytes << " B from " << first_bytes << ", stride " << stride_bytes << ", " << kept_loads << " kept, "
      << averaged_laps << " laps averaged; " << hit_cycles << " + " << bank_cycles << " / " << miss_cycles << " + "
      << miss_spread << " cycles, jitter " << jitter_cycles << ", outliers " << outlier_probability << ", drift "
      << drift_cycles << ", clock " << clock_cycles << ", fixed miss from " << fixed_miss_from << " B";
  return out.str();
}

Recorded record(const SweepModel& model) {
  Memory memory(model);
  Recorded result;
  SweepTruth& truth = result.truth;
  const std::uint64_t stride = model.stride_bytes == 0 ? model.line_bytes : model.stride_bytes;
  const double capacity = static_cast<double>(model.capacity_lines * model.line_bytes);
  bool clean_so_far = true;
  double fewest_misses = 1;
  double most_misses = 0;
  truth.fits_at_all = static_cast<double>(model.first_bytes) <= capacity;
  truth.overflows = false;
  for (std::uint64_t i = 0; i < model.rows; ++i) {
    const std::uint64_t bytes = model.first_bytes + i * model.step_bytes;
    const std::uint64_t loads = (bytes + stride - 1) / stride;
    const std::uint64_t lines = (bytes + model.line_bytes - 1) / model.line_bytes;
    const std::uint64_t kept = model.kept_loads == 0 ? loads : std::min(loads, model.kept_loads);
    memory.deal(lines);
    std::vector<double> sums(kept, 0);
    std::uint64_t misses = 0;
    for (std::uint64_t lap = 0; lap < warm_laps + model.averaged_laps; ++lap) {
      for (std::uint64_t k = 0; k < loads; ++k) {
        const std::uint64_t line = k * stride / model.line_bytes;
        const bool new_line = k == 0 || line != (k - 1) * stride / model.line_bytes;
        const bool taken = model.fixed_miss_from > 0 && bytes >= model.fixed_miss_from && new_line && line >= 7 &&
                           line < 7 + model.fixed_misses;
        const auto load = memory.load(line, taken);
        if (lap >= warm_laps && k < kept) {
          misses += static_cast<std::uint64_t>(!load.hit);
          sums[k] += load.cycles + memory.noise();
        }
      }
    }
    const double drift = model.drift_cycles * static_cast<double>(i) / static_cast<double>(model.rows);
    Row row{static_cast<double>(bytes), {}};
    double mean = 0;
    for (const double sum : sums) {
      const double cycles = sum / static_cast<double>(model.averaged_laps) + drift;
      mean += cycles / static_cast<double>(kept);
      row.values.push_back(std::max(1.0, std::round(cycles / model.clock_cycles)) * model.clock_cycles);
    }
    if (model.one_average_a_row) {
      row.values = {std::round(mean)};
    }
    result.trace.rows.push_back(std::move(row));
    const bool clean = misses == 0;
    const double share = static_cast<double>(misses) / static_cast<double>(kept * model.averaged_laps);
    fewest_misses = std::min(fewest_misses, share);
    most_misses = std::max(most_misses, share);
    const double size = static_cast<double>(bytes);
    if (model.page_lines > 0) {  // sets overflow by luck long before the capacity: what the loads show is the truth
      clean_so_far = clean_so_far && clean;
      truth.fits_at_all = truth.fits_at_all && (clean || i > 0);
      truth.overflows = truth.overflows || !clean;
      truth.fits = clean_so_far ? size : truth.fits;
      truth.last_clean = clean ? size : truth.last_clean;
    } else {
      truth.overflows = truth.overflows || size > capacity;
      truth.fits = size <= capacity ? size : truth.fits;
      clean_so_far = clean_so_far && (clean || size <= capacity);
      truth.last_clean = clean_so_far ? size : truth.last_clean;
    }
  }
  truth.misses_vary = most_misses > fewest_misses + 0.05;
  return result;
}

}  // namespace gputopo::change_point::testing
