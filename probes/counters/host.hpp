// The host side of CUPTI's Range Profiler: which metrics a chip has, what they cost, and what raw data means. Needs no
// GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "counters/counter.hpp"
#include "counters/cupti_library.hpp"

namespace gputopo::counters {

/// Metrics of one chip, scheduled.
class Schedule {
 public:
  /// `availability` is what this very GPU told about its counters; empty: all that the chip has. `unavailable` where
  /// the chip is unknown or lacks one of the metrics, which the message names.
  static Expected<std::unique_ptr<Schedule>> make(const Cupti& cupti, const std::string& chip,
                                                  const std::vector<std::uint8_t>& availability,
                                                  const Metrics& metrics);
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;
  ~Schedule();

  std::size_t passes() const { return passes_; }
  const std::vector<std::uint8_t>& config() const { return config_; }
  const std::vector<const char*>& names() const { return names_; }

  /// The metrics' values in range `range` of a decoded counter data image.
  Expected<Values> evaluate(const std::vector<std::uint8_t>& image, std::size_t range) const;

 private:
  explicit Schedule(const Cupti& cupti, Metrics metrics) : cupti_(cupti), metrics_(std::move(metrics)) {}

  const Cupti& cupti_;
  Metrics metrics_;
  std::vector<const char*> names_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<std::uint8_t> config_;
  std::size_t passes_ = 0;
};

/// The chips that this CUPTI knows. Error: as Cupti::check.
Expected<std::vector<std::string>> supported_chips(const Cupti& cupti);

}  // namespace gputopo::counters
