// The device side of CUPTI's Range Profiler: one range a stretch, one pass, no replay.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "counters/host.hpp"

namespace gputopo::counters {

class RangeProfiler final : public Counter {
 public:
  /// Counts in `context` on CUDA's device `ordinal`.
  static Expected<std::unique_ptr<RangeProfiler>> make(Cupti cupti, CUcontext context, int ordinal);
  ~RangeProfiler() override;

  const std::string& chip() const override { return chip_; }
  Expected<std::size_t> passes(const Metrics& metrics) override;
  Expected<void> start(const Metrics& metrics, std::size_t stretches) override;
  Expected<void> begin_stretch() override;
  Expected<void> end_stretch() override;
  Expected<std::vector<Values>> stop() override;

 private:
  RangeProfiler(Cupti cupti, CUcontext context) : cupti_(std::move(cupti)), context_(context) {}
  Expected<void> open(int ordinal);
  Expected<void> check_support(int ordinal) const;
  Expected<void> read_availability();
  Expected<void> enable();
  void disable();
  Expected<void> enable_for(const Schedule& schedule);
  Expected<Schedule*> schedule(const Metrics& metrics);
  Expected<void> prepare_image(const Schedule& schedule, std::size_t stretches);

  Cupti cupti_;
  CUcontext context_;
  std::string chip_;
  bool initialized_ = false;
  std::vector<std::uint8_t> availability_;
  std::map<Metrics, std::unique_ptr<Schedule>> schedules_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  const Schedule* enabled_for_ = nullptr;  // the metrics that profiler_ was set up for
  Schedule* counting_ = nullptr;           // while between start and stop
  std::deque<std::string> stretch_names_;  // where they are until stop(), since CUPTI may keep pointers to them
  std::vector<std::uint8_t> image_;
};

}  // namespace gputopo::counters
