#include "experiments/crosscheck/crosscheck.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "counters/metrics.hpp"
#include "evidence/code/code_levels.hpp"
#include "evidence/inference/modes.hpp"
#include "evidence/looks/findings.hpp"
#include "experiments/crosscheck/counted.hpp"
#include "experiments/crosscheck/judge.hpp"
#include "experiments/crosscheck/plan.hpp"
#include "experiments/crosscheck/slices.hpp"
#include "experiments/registry.hpp"

namespace gputopo::experiments {
namespace {

constexpr std::uint64_t memory_stride_bytes = 256;  // no load finds what another one fetched
constexpr double traffic_tolerance = 0.005;         // of the traffic, for memories that the whole GPU shares

std::uint64_t value_or(const Memory& memory, std::string_view attribute, std::uint64_t otherwise) {
  const Estimate* e = memory.find(attribute);
  return e != nullptr && e->has_value() && *e->value > 0 ? static_cast<std::uint64_t>(*e->value) : otherwise;
}

class Checker {
 public:
  Checker(device::Device& device, counters::Counter& counter, const counters::Chip& chip, const Topology& topology,
          const DiscoverOptions& options)
      : session_(device, {options.seed, false, options.progress, options.stop}),
        counter_(counter),
        chip_(chip),
        topology_(topology),
        options_(options) {}

  Expected<CrossCheckReport> run() {
    if (auto ok = find_levels(); !ok) return tl::unexpected<Error>(ok.error());
    std::size_t done = 0;
    // Memories with the same counters follow one another: setting other ones up takes long.
    static constexpr std::array<std::string_view, 9> order{
        "l1", "read_only",     "texture",        "constant_l1",     "constant_l1_5",
        "l2", "device_memory", "instruction_l1", "instruction_l1_5"};
    for (const std::string_view id : order) {
      session_.report(static_cast<double>(done++) / static_cast<double>(order.size()), id);
      const auto& only = options_.only;
      if (!only.empty() && std::find(only.begin(), only.end(), id) == only.end()) continue;
      const Memory* memory = topology_.find(id);
      if (memory == nullptr) continue;
      const Estimate* size = memory->find("size");
      if (size == nullptr || size->status == Status::not_supported) continue;
      const bool is_code = id.starts_with("instruction_");  // levels of which say how much code to try
      const counters::MemoryMetrics* metrics = chip_.find(id);
      if (metrics == nullptr) {
        report_.notes.push_back(fmt::format("{}: a {} has no counter for it", id, chip_.name));
      } else if (!size->has_value() && !is_code) {
        report_.notes.push_back(fmt::format("{}: its size isn't known, so it wasn't checked against counters", id));
      } else if (auto ok = check(*memory, *metrics); !ok) {
        return tl::unexpected<Error>(ok.error());
      } else if (id == "l2") {
        if (ok = check_slices(session_, counter_, report_); !ok) return tl::unexpected<Error>(ok.error());
      }
    }
    session_.report(1, "done");
    return std::move(report_);
  }

 private:
  Expected<void> check(const Memory& memory, const counters::MemoryMetrics& metrics) {
    auto subject = subject_of(memory, metrics);
    if (!subject) return tl::unexpected<Error>(subject.error());
    if (subject->plan.empty()) return {};
    const counters::Metrics all = counted_together(metrics);
    const auto index_of = [&](std::string_view metric) {
      return static_cast<std::size_t>(std::find(all.begin(), all.end(), metric) - all.begin());
    };
    CrossCheckReport own;
    // A launch that was repeated, since its SM got no block, or another program's is counted as well. Not twice,
    // though; a fault of ours is there again.
    constexpr int attempts = 2;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      auto runs = run_counted(session_, counter_, all, subject->plan);
      if (!runs) return tl::unexpected<Error>(runs.error());
      for (CountedRun& run : *runs)
        run.values = {metrics.loads.empty() ? 0 : run.values.at(index_of(metrics.loads)),
                      run.values.at(index_of(metrics.misses))};
      own = {};
      judge(*subject, *runs, own);
      if (own.verdict(memory.id) != verdict_differs) break;
    }
    report_.entries.insert(report_.entries.end(), own.entries.begin(), own.entries.end());
    report_.notes.insert(report_.notes.end(), own.notes.begin(), own.notes.end());
    return {};
  }

  // Setting the counters up takes long, so memories that can be counted in one pass share what they count.
  counters::Metrics counted_together(const counters::MemoryMetrics& metrics) {
    static const std::vector<std::vector<std::string_view>> groups{{"l1", "read_only"},
                                                                   {"texture"},
                                                                   {"constant_l1", "constant_l1_5"},
                                                                   {"l2", "device_memory"},
                                                                   {"instruction_l1", "instruction_l1_5"}};
    counters::Metrics all;
    for (const auto& group : groups) {
      if (std::find(group.begin(), group.end(), metrics.memory) == group.end()) continue;
      for (const std::string_view id : group)
        if (const counters::MemoryMetrics* m = chip_.find(id); m != nullptr)
          for (const std::string_view name : {m->loads, m->misses})
            if (!name.empty() && std::find(all.begin(), all.end(), name) == all.end()) all.emplace_back(name);
    }
    const auto passes = counter_.passes(all);
    if (passes && *passes == 1) return all;
    all = {std::string(metrics.loads), std::string(metrics.misses)};
    std::erase(all, "");
    return all;
  }

  Expected<Subject> subject_of(const Memory& memory, const counters::MemoryMetrics& metrics) {
    Subject subject{memory.id, metrics, 0, {}, 1, 0, 0, 0, {}};
    const std::uint64_t size = value_or(memory, "size", 0);
    const std::uint64_t line = value_or(memory, "line_size", value_or(memory, "sector_size", 32));
    subject.line_bytes = line;
    if (memory.id.starts_with("instruction_")) return code_subject(std::move(subject), size);
    // Of what hits and misses by construction, measured anew: a second opinion, not what discovery was told.
    const std::string_view levels_of = memory.id == "device_memory" ? "l2" : std::string_view(memory.id);
    const evidence::CacheFacts* cache = findings_.cache(levels_of);
    if (cache == nullptr || !cache->present) {
      report_.notes.push_back(
          fmt::format("{}: not checked against counters, since hits and misses can't be told apart", memory.id));
      return subject;
    }
    subject.threshold_cycles = cache->levels.threshold_cycles;
    subject.contamination = cache->contamination();
    // Its counter sees what one SM's side of the L2 misses, far hits included: what is slower than near hits.
    if (memory.id == "l2") subject.threshold_cycles = evidence::upper_fence(cache->levels.hit);
    if (memory.id == "l2" || memory.id == "device_memory") {
      subject.tolerance = traffic_tolerance;
      // The counters count sectors of 32 B; a miss fetches as many as cold loads were seen to share.
      const Memory* l2 = topology_.find("l2");
      const std::uint64_t fetched = l2 != nullptr ? value_or(*l2, "sector_size", 32) : 32;
      subject.units_a_miss = static_cast<double>(fetched) / static_cast<double>(counters::sector_bytes);
      if (memory.id == "l2") {
        subject.plan = plan_l2(session_, size, std::max<std::uint64_t>(line, 128));
      } else {
        const std::uint64_t l2_bytes = l2 != nullptr ? value_or(*l2, "size", 0) : session_.info().l2_bytes;
        subject.plan = plan_device_memory(session_, l2_bytes, memory_stride_bytes);
      }
      return subject;
    }
    if (memory.id == "constant_l1_5") {
      subject.plan = plan_constant_l1_5(session_, size, line, cache->front_line_bytes);
      return subject;
    }
    subject.plan =
        plan_sm_cache(session_, cache->path, size, line, memory.id == "l1" && session_.info().shared_bytes_per_sm != 0);
    return subject;
  }

  // Levels of code, found anew.
  Expected<Subject> code_subject(Subject subject, std::uint64_t size) {
    if (!code_levels_) {
      auto found = evidence::find_code_levels(session_);
      if (!found) return tl::unexpected<Error>(found.error());
      code_levels_ = std::move(*found);
    }
    const evidence::CacheFacts* l2 = findings_.cache("l2");
    const bool has_l2 = (l2 != nullptr && l2->present) || session_.info().l2_bytes != 0;
    const auto names = evidence::names_of_code_levels(code_levels_->size(), has_l2);
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), subject.memory) - names.begin());
    if (at == names.size()) {
      report_.notes.push_back(
          fmt::format("{}: not checked against counters, since it wasn't found again", subject.memory));
      return subject;
    }
    // Between two jumps and two laps the walk's own code runs, and misses as well once more than fits was walked: it is
    // asked for a block at a time, however long lines are.
    constexpr std::uint64_t own_bytes = 2048;
    const evidence::CodeLevel& level = (*code_levels_)[at];
    const std::uint64_t line = std::max(subject.line_bytes, session_.info().code_block_bytes);
    subject.threshold_cycles = level.levels.threshold_cycles;
    subject.contamination = level.levels.contamination();
    subject.own_misses_a_lap = static_cast<double>(own_bytes) / static_cast<double>(session_.info().code_block_bytes);
    subject.plan = plan_instructions(session_, subject.memory, size != 0 ? size : level.to_bytes, line);
    return subject;
  }

  // Only what tells levels apart is run, with what that needs.
  Expected<void> find_levels() {
    for (const Experiment* e : plan(options_.only, false, false)) {
      if (!e->name.ends_with(".levels") && e->name != "device_memory" && e->name != "constant_l1.geometry" &&
          e->name != "constant_l1.sector")
        continue;
      if (auto ok = e->run(session_, findings_); !ok) return ok;
    }
    return {};
  }

  Session session_;
  counters::Counter& counter_;
  const counters::Chip& chip_;
  const Topology& topology_;
  const DiscoverOptions& options_;
  Findings findings_;
  std::optional<std::vector<evidence::CodeLevel>> code_levels_;
  CrossCheckReport report_;
};

}  // namespace

Expected<CrossCheckReport> cross_check(device::Device& device, counters::Counter& counter, const Topology& topology,
                                       const DiscoverOptions& options) {
  const auto chip = counters::find_chip(counter.chip());
  if (!chip) return tl::unexpected<Error>(chip.error());
  return Checker(device, counter, *chip, topology, options).run();
}

}  // namespace gputopo::experiments
