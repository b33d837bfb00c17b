#include "throughput/l2_slices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace gputopo::throughput {
namespace {

using program::Workload;

using Lines = std::vector<std::uint32_t>;

constexpr std::uint64_t sliced_bytes = std::uint64_t{16} << 20U;
constexpr std::uint32_t buffer_lines = sliced_bytes / sliced_line_bytes;
constexpr std::uint32_t adds_of_a_line = 32;  // of an SM: 13 us where one slice carries all out (an H200)
constexpr std::uint32_t adding_threads = 512;
constexpr std::uint64_t bytes_of_a_line = adds_of_a_line * sizeof(std::uint32_t);  // in a block's list
// Every GPU has that much shared memory for a block. Twice as many slices as GPUs have: then each line seems to be its
// own.
constexpr std::size_t most_slices = (48 << 10) / bytes_of_a_line;
constexpr double likely_complete = 1e-3;
constexpr int runs_of_a_time = 3;
constexpr int runs_in_vain = 16;

constexpr double busy_share = 0.25;  // of what a second line of one slice takes: half of half of it, for noise

// Lines that lie in different slices; one more and SMs still keep each as busy as if it were alone.
struct Batch {
  Lines lines;
  std::vector<std::size_t> slices;
};

class SliceSearch {
 public:
  SliceSearch(Meter& meter, std::uint64_t seed) : meter_(meter), random_(seed) {}

  Expected<Slices> run(std::uint64_t mapped_lines) {
    if (auto ok = calibrate(); !ok) return tl::unexpected<Error>(ok.error());
    if (!found_.why_open.empty()) return found_;
    if (auto ok = find_most_at_once(); !ok) return tl::unexpected<Error>(ok.error());
    if (!found_.why_open.empty()) return found_;
    if (auto ok = draw(); !ok) return tl::unexpected<Error>(ok.error());
    if (!found_.why_open.empty()) return found_;
    for (std::uint32_t line = 0; line < std::min<std::uint64_t>(mapped_lines, buffer_lines); ++line) {
      const auto slice = slice_of(line);
      if (!slice) return tl::unexpected<Error>(slice.error());
      found_.of_line.push_back(slice->value_or(found_.line_of.size()));
    }
    return found_;
  }

 private:
  Expected<double> cycles(const Lines& lines) {
    const auto trace = meter_.run(adding_to(meter_.info(), lines));
    if (!trace) return tl::unexpected<Error>(trace.error());
    return static_cast<double>(trace->cycles);
  }

  // The least and the most of some runs.
  Expected<std::pair<double, double>> range_of_cycles(const Lines& lines) {
    std::pair<double, double> range{std::numeric_limits<double>::infinity(), 0};
    for (int i = 0; i < runs_of_a_time; ++i) {
      const auto took = cycles(lines);
      if (!took) return tl::unexpected<Error>(took.error());
      range = {std::min(range.first, *took), std::max(range.second, *took)};
    }
    return range;
  }

  // What one line takes, and how much more a second one of its slice does.
  Expected<void> calibrate() {
    constexpr double clearly_more = 1.5;
    static_cast<void>(cycles({0}));  // the first one's code comes from memory
    const auto one = range_of_cycles({0});
    if (!one) return tl::unexpected<Error>(one.error());
    const auto twice = range_of_cycles({0, 0});
    if (!twice) return tl::unexpected<Error>(twice.error());
    alone_ = one->first;
    more_ = twice->first - one->first;
    if (twice->first < clearly_more * one->first)
      found_.why_open = "adding twice as often to a line hardly takes longer";
    return {};
  }

  std::uint32_t drawn_line() { return std::uniform_int_distribution<std::uint32_t>(0, buffer_lines - 1)(random_); }

  // Whether `line` lies in the slice of one of `others`, of one batch; nothing where others' work leaves it open. What
  // comes in between only makes it longer, and what takes turns with us much more so.
  Expected<std::optional<bool>> meets(std::uint32_t line, std::span<const std::uint32_t> others) {
    constexpr int enough = 2;
    Lines lines(others.begin(), others.end());
    lines.push_back(line);
    int longer = 0;
    for (int i = 0; i < runs_in_vain && longer < enough; ++i) {
      const auto took = cycles(lines);
      if (!took) return tl::unexpected<Error>(took.error());
      if (*took < alone_ + more_ / 2) return std::optional(false);
      if (*took < alone_ + more_ * 3 / 2) ++longer;
    }
    return longer == enough ? std::optional(true) : std::nullopt;
  }

  Expected<std::optional<const Batch*>> batch_that_meets(std::uint32_t line) {
    for (const Batch& batch : batches_) {
      const auto met = meets(line, batch.lines);
      if (!met) return tl::unexpected<Error>(met.error());
      if (!*met) return std::optional<const Batch*>();
      if (**met) return std::optional(&batch);
    }
    return std::optional<const Batch*>(nullptr);
  }

  void add(std::uint32_t line) {
    if (batches_.empty() || batches_.back().lines.size() + 1 >= at_once_) batches_.emplace_back();
    batches_.back().lines.push_back(line);
    batches_.back().slices.push_back(found_.line_of.size());
    found_.line_of.push_back(line);
  }

  // As many lines as SMs keep as busy as one, run for run: lines of different slices. More may take longer though none
  // share one.
  Expected<void> find_most_at_once() {
    constexpr int in_a_row = 32;
    Lines lines;
    for (int failures = 0; failures < in_a_row && lines.size() + 1 < most_slices; ++failures) {
      lines.push_back(drawn_line());
      const auto took = range_of_cycles(lines);
      if (!took) return tl::unexpected<Error>(took.error());
      if (took->second < alone_ + busy_share * more_)
        failures = -1;
      else
        lines.pop_back();
    }
    at_once_ = lines.size();
    if (at_once_ < 2) found_.why_open = "all SMs together keep no more than one of them busy, or there is one";
    if (at_once_ >= 2)
      for (const std::uint32_t line : lines) add(line);
    return {};
  }

  // That one of half the share of each is in none of so many draws, for any of them.
  double chance_of_more() const {
    const auto slices = static_cast<double>(found_.line_of.size());
    return std::min(1.0, slices * std::pow(1 - 1 / (2 * slices), static_cast<double>(found_.drawn)));
  }

  Expected<void> draw() {
    std::uint64_t undecided = 0;
    do {
      const std::uint32_t line = drawn_line();
      const auto met = batch_that_meets(line);
      if (!met) return tl::unexpected<Error>(met.error());
      if (!*met) {
        if (++undecided > runs_in_vain) {
          found_.why_open = "another program's work comes in between";
          return {};
        }
        continue;
      }
      ++found_.drawn;
      if (**met == nullptr) add(line);
    } while ((found_.chance_of_more = chance_of_more()) > likely_complete && found_.line_of.size() < most_slices);
    if (found_.line_of.size() >= most_slices) found_.why_open = "lines hardly ever share one";
    return {};
  }

  // By halves of the batch that it meets.
  Expected<std::optional<std::size_t>> slice_of(std::uint32_t line) {
    const auto batch = batch_that_meets(line);
    if (!batch) return tl::unexpected<Error>(batch.error());
    if (!*batch || **batch == nullptr) return std::optional<std::size_t>();
    std::span<const std::uint32_t> left = (**batch)->lines;
    std::size_t first = 0;
    while (left.size() > 1) {
      const std::size_t half = left.size() / 2;
      const auto met = meets(line, left.first(half));
      if (!met) return tl::unexpected<Error>(met.error());
      if (!*met) return std::optional<std::size_t>();
      if (!**met) first += half;
      left = **met ? left.first(half) : left.subspan(half);
    }
    return std::optional((**batch)->slices[first]);
  }

  Meter& meter_;
  std::mt19937_64 random_;
  Slices found_;
  std::vector<Batch> batches_;
  double alone_ = 0, more_ = 0;
  std::size_t at_once_ = 0;
};

}  // namespace

Workload adding_to(const device::DeviceInfo& info, const Lines& lines) {
  Workload w;
  w.label = fmt::format("adding to {} lines of the L2", lines.size());
  w.kernel = "l2_add";
  w.threads = adding_threads;
  w.blocks = info.gpu.sm_count;
  w.shared_bytes = lines.size() * bytes_of_a_line;
  w.numbers = {1};
  w.buffer_bytes = {sliced_bytes, 0, 0};
  const auto begin = 2 * info.gpu.sm_count, words = static_cast<std::uint32_t>(lines.size()) * adds_of_a_line;
  for (std::uint32_t sm = 0; sm < info.gpu.sm_count; ++sm) w.input.insert(w.input.end(), {begin, words});
  for (std::uint32_t i = 0; i < adds_of_a_line; ++i) w.input.insert(w.input.end(), lines.begin(), lines.end());
  return w;
}

Expected<Slices> find_slices(Meter& meter, std::uint64_t seed, std::uint64_t mapped_lines) {
  return SliceSearch(meter, seed).run(mapped_lines);
}

}  // namespace gputopo::throughput
