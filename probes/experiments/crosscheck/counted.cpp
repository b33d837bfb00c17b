#include "experiments/crosscheck/counted.hpp"

#include <fmt/format.h>

namespace gputopo::experiments {
namespace {

// A program whose block came to lie on another SM is launched again, which makes one launch more than planned.
constexpr int attempts = 4;

class Counting {
 public:
  Counting(Session& session, counters::Counter& counter, const counters::Metrics& metrics)
      : session_(session), counter_(counter), metrics_(metrics) {}
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
  ~Counting() {
    if (counting_) static_cast<void>(counter_.stop());
  }

  Expected<void> run(const PlannedCheck& planned, std::size_t still_to_come) {
    if (!planned.before.empty()) {
      if (auto ok = pause(); !ok) return ok;
      if (auto traces = session_.run(planned.before); !traces) return tl::unexpected<Error>(traces.error());
    }
    if (!counting_) {
      if (auto ok = counter_.start(metrics_, 2 * still_to_come); !ok) return ok;
      counting_ = true;
    }
    auto traces = session_.run(planned.launch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    runs_.push_back({std::move(*traces), {}});
    return {};
  }

  Expected<void> pause() {
    if (!counting_) return {};
    counting_ = false;
    auto values = counter_.stop();
    if (!values) return tl::unexpected<Error>(values.error());
    matched_ = matched_ && counted_ + values->size() == runs_.size();
    if (matched_)
      for (auto& v : *values) runs_[counted_++].values = std::move(v);
    return {};
  }

  bool matched() const { return matched_; }
  std::vector<CountedRun> take() { return std::move(runs_); }

 private:
  Session& session_;
  counters::Counter& counter_;
  const counters::Metrics& metrics_;
  std::vector<CountedRun> runs_;
  std::size_t counted_ = 0;  // runs that have their values
  bool counting_ = false;
  bool matched_ = true;
};

}  // namespace

Expected<std::vector<CountedRun>> run_counted(Session& session, counters::Counter& counter,
                                              const counters::Metrics& metrics, const std::vector<PlannedCheck>& plan) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Counting counting(session, counter, metrics);
    for (std::size_t i = 0; i < plan.size() && counting.matched(); ++i)
      if (auto ok = counting.run(plan[i], plan.size() - i); !ok) return tl::unexpected<Error>(ok.error());
    if (auto ok = counting.pause(); !ok) return tl::unexpected<Error>(ok.error());
    if (counting.matched()) return counting.take();
  }
  return fail(Error::Kind::device,
              fmt::format("the counters saw another number of launches than '{}' and its like took; is another process "
                          "using the GPU?",
                          plan.front().launch.front().label));
}

}  // namespace gputopo::experiments
