// Undisturbed runs: what every experiment talks to instead of the Device.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "evidence/inference/beyond_sms.hpp"
#include "evidence/looks/walks.hpp"
#include "topology/evidence.hpp"

namespace gputopo::evidence {

struct Settings {
  std::uint64_t seed = 1;
  bool thesis = false;  ///< sizes by the thesis's method (Größler 2022, section 3.3) instead of the likelihood
  /// Called now and then with the share of the work done (0 to 1) and what is being measured.
  std::function<void(double, std::string_view)> progress;
  const std::atomic<bool>* stop = nullptr;  ///< when it turns true, run() ends with Error::Kind::interrupted
  bool deep = false;                        ///< what takes long is asked for, too
};

/// What a session saw of other users of the GPU.
struct Disturbance {
  std::uint64_t programs = 0;       ///< run in all, repetitions left out
  std::uint64_t repeated = 0;       ///< runs of a program that were spoiled and made again
  std::uint64_t given_up = 0;       ///< programs that were spoiled every time
  std::uint64_t switches = 0;       ///< times the GPU was taken away while a program ran
  std::uint64_t away_ns = 0;        ///< for how long in all
  std::uint64_t clock_changes = 0;  ///< programs whose SM clock differed from those before
};

/// A program of half a slice is interrupted every other time, one of three quarters three times of four: so many rounds
/// in which no program gets through come from programs that are longer than a slice.
inline constexpr int most_rounds_in_vain = 12;

/// How long a neighbour's turns may make the programs of a batch be run again, so that a discovery ends soon wherever
/// programs hardly ever get through: half of what is left of 3 s, of ten times as much for what takes long anyway. A
/// batch that no round helps leaves the others their part, and what a single program may take in vain is always left.
class Patience {
 public:
  explicit Patience(bool deep) : left_ns_(deep ? 10 * most_ns : most_ns) {}

  void begin_batch() { batch_ns_ = std::max(least_ns, left_ns_ / 2); }
  /// What these runs took, of which some were spoiled: other programs' turns and those of ours that came to nothing.
  void lose(const program::Batch& batch, const std::vector<program::ProgramTrace>& traces);
  bool is_over() const { return batch_ns_ <= 0; }

 private:
  static constexpr double turn_ns = 2e6;
  static constexpr double most_ns = 3e9;
  static constexpr double least_ns = most_rounds_in_vain * 2 * turn_ns;

  double left_ns_;
  double batch_ns_ = 0;
};

class Session {
 public:
  Session(device::Device& device, Settings settings)
      : device_(device), settings_(std::move(settings)), patience_(settings_.deep) {}

  const device::DeviceInfo& info() const { return device_.info(); }
  /// For stream programs: what disturbs one of them is an outlier among its repetitions, so they need no session.
  device::Device& device() { return device_; }
  const Settings& settings() const { return settings_; }
  const Disturbance& disturbance() const { return disturbance_; }
  /// The SM clock that programs ran at, as a share of the driver's; 1 where either isn't known.
  double clock_share() const;
  /// The SM clock of all programs that came back since it was watched anew.
  SmClock clock() const;
  void watch_clock_anew() { clocks_khz_.clear(); }
  /// How often the SM clock changed for good: latencies and thresholds from before are of another clock.
  std::uint32_t clocks_left_behind() const { return clocks_left_behind_; }

  /// Runs a batch; what comes back ran from its first load to its last without losing the GPU. A program that was
  /// interrupted is run again, by itself, until it fits between two interruptions: of processes that take turns, each
  /// has the GPU for about 2 ms (docs/measuring.md), so programs take far less than that. Errors: those of Device::run,
  /// `interrupted` once the stop flag is set, `unavailable` where a program was interrupted every time, or the batch so
  /// often that Patience is over.
  Expected<std::vector<program::ProgramTrace>> run(const program::Batch& batch);

  /// The same for programs that take ever longer: the traces of those before the first that was interrupted every time,
  /// of one at least.
  Expected<std::vector<program::ProgramTrace>> run_while_they_fit(const program::Batch& batch);

  /// The same for batches that build on what earlier ones left behind, one after another; all are run again where a
  /// program was interrupted, and made anew for that, since some look at what nobody has touched: `most_rounds` times,
  /// fewer where the same can be asked in shorter pieces. What the last one gave.
  Expected<std::vector<program::ProgramTrace>> run_in_order(const std::function<std::vector<program::Batch>()>& make,
                                                            int most_rounds = most_rounds_in_vain);

  /// Tells the progress callback.
  void report(double done, std::string_view what) const;

  /// What measures from now on: the experiment's name and the memory that it is about.
  void now_measuring(std::string_view experiment, std::string_view memory);
  /// Keeps what decided a quantity, in place of what was kept of it before. Who measures is filled in where it is
  /// empty; numbers get as many digits as a plot shows, and points that have none are left out.
  void keep(DecidingCurve curve);
  /// What was kept of memory `from` turns out to be of `to`, in place of what was kept of that.
  void rename_kept(std::string_view from, std::string_view to);
  const std::vector<DecidingCurve>& curves() const { return curves_; }

  /// A part of `slot` that no walk has touched yet, `bytes` long: what lies there is in no SM-private cache. Regions
  /// come round again only after more than any SM-private cache holds has been walked in between.
  std::uint64_t fresh_region(Slot slot, std::uint64_t bytes);
  /// Whether all such regions were nobody's before.
  bool are_all_fresh(Slot slot) const { return !begun_anew_.contains(slot); }

 private:
  struct Ran {
    std::vector<program::ProgramTrace> traces;
    std::optional<std::size_t> never;  // the first program that was interrupted every time
  };
  Expected<Ran> run_until_undisturbed(const program::Batch& batch);
  bool is_spoiled(const program::ProgramTrace& trace);
  Expected<std::vector<program::ProgramTrace>> run_once(const program::Batch& batch);
  tl::unexpected<Error> give_up(const program::Program& program, bool for_good = true);

  device::Device& device_;
  Settings settings_;
  Patience patience_;
  Disturbance disturbance_;
  std::vector<std::uint64_t> fresh_;
  std::set<Slot> begun_anew_;        // whose memory is used up, so that what is handed out was handed out before
  std::string experiment_, memory_;  // that measure now
  std::uint64_t programs_before_ = 0;
  std::vector<DecidingCurve> curves_;
  double cycles_per_ns_ = 0;
  std::vector<std::uint64_t> clocks_khz_;
  std::uint32_t clock_rejections_ = 0;
  std::uint32_t clocks_left_behind_ = 0;
};

/// Nothing where a neighbour on the GPU leaves no time for it, or the GPU no room: then what it would say isn't known.
template <typename T>
Expected<std::optional<T>> if_available(Expected<T> result) {
  if (result) return std::optional<T>(std::move(*result));
  if (result.error().kind == Error::Kind::unavailable) return std::optional<T>();
  return tl::unexpected<Error>(result.error());
}

}  // namespace gputopo::evidence
