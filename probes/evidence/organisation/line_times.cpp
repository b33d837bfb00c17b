#include "evidence/organisation/line_times.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "evidence/looks/latency.hpp"

namespace gputopo::evidence {

Expected<void> LineTimes::learn(const Circle& circle) {
  constexpr std::size_t most_at_once = 256;
  // Single loads differ by as much as a level of translation takes; what they take together must not. And one before,
  // which brings line and translation in.
  constexpr std::uint64_t looks = 33;
  std::vector<std::uint64_t> unknown;
  for (std::uint64_t line = circle.first; line < circle.first + circle.lines; ++line)
    if (!cycles_.contains(line)) unknown.push_back(line);
  for (std::size_t done = 0; done < unknown.size(); done += most_at_once) {
    const std::size_t end = std::min(unknown.size(), done + most_at_once);
    program::Batch batch;
    for (std::size_t i = done; i < end; ++i) {
      program::Program p =
          make_program(fmt::format("{} line {} alone", path_.id, unknown[i]), session_->info(), path_.slot);
      p.isolation = Scope::gpu;
      p.agents = {{sm_, 0}};
      program::Walk walk = recorded(make_walk(path_, 4, 4, 1), program::Record::latencies, 1);
      walk.first_byte = unknown[i] * stride_bytes_;
      walk.loads_per_lap = 1 + looks;
      p.phases = {walk};
      batch.push_back(std::move(p));
    }
    auto traces = session_->run(batch);
    if (!traces) return tl::unexpected<Error>(traces.error());
    for (std::size_t i = done; i < end; ++i) {
      auto& all = (*traces)[i - done].phases.back().latencies;
      const double own = cycles_[unknown[i]] = middle_half({all.begin() + 1, all.end()});
      for (std::size_t k = 1; k < all.size(); ++k) ++excess_[all[k] - own];
      looks_ += looks;
    }
  }
  return {};
}

double LineTimes::share_below(double cycles) const {
  std::uint64_t below = 0;
  for (auto it = excess_.begin(); it != excess_.end() && it->first < cycles; ++it) below += it->second;
  return (static_cast<double>(below) + 1) / (static_cast<double>(looks_) + 2);
}

double LineTimes::share_above(double cycles) const {
  std::uint64_t above = 0;
  for (auto it = excess_.lower_bound(cycles); it != excess_.end(); ++it) above += it->second;
  return (static_cast<double>(above) + 1) / (static_cast<double>(looks_) + 2);
}

}  // namespace gputopo::evidence
